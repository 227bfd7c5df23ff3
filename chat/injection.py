"""Put together what a model may call in a turn: linked tools, found tools, the search itself."""

import logging
from collections.abc import Collection, Iterator, Sequence
from threading import Lock
from time import monotonic

from agents.access import linked_tools, linked_toolset, pins_of
from agents.models import Agent, Arm
from agents.models.agent import DiscoveryMode
from chat.answers import Answer
from chat.artifacts import kept_if_large
from chat.pauses import Pause, pause_of
from chat.questions import ASK_USER_SCHEMA, question_put
from chat.searching import Wanted, at_hand, output_of, searched
from chat.secrecy import Secrecy
from chat.threads import in_thread, in_tool_thread
from chat.tool_schemas import ASK_USER, SEARCH_TOOLS, SEARCH_TOOLS_SCHEMA, code_schema, model_schema
from config.lib.errors import DomainError
from config.lib.types import JsonObject
from registry.context import CallContext, Progress
from registry.errors import ToolError
from registry.execution import invoke
from registry.loading import code_ids, code_spec, load_spec, load_specs
from registry.models import Tool
from registry.schemas import validate_arguments
from registry.search.selection import DUPLICATE
from registry.search.service import Mode, SearchAnswer
from registry.search.variety import Hit
from registry.selectors import tools_usable_by
from registry.specs import ToolSpec
from registry.toolset import Toolset

logger = logging.getLogger(__name__)

SHOWN_REJECTED = 5
"""Candidates told of beside those that were injected."""


class Toolbox:
    """The tools of one turn. It grows when a search finds more; it never shrinks."""

    def __init__(
        self,
        agent: Agent,
        context: CallContext,
        secrecy: Secrecy | None = None,
        arm: Arm | None = None,
    ) -> None:
        self._agent = agent
        self._arm = arm
        self._secrecy = secrecy
        self._context = context
        self._lock = Lock()
        self._searched: dict[object, list[str]] = {}
        self._said: tuple[str, ...] = ()
        self.unloaded: list[JsonObject] = []
        """Linked tools that could not be loaded, as entries of the found panel."""
        self.code = code_spec() if agent.code_execution else None
        """The running of code, where the agent's owner allows it and it is installed."""
        self.toolset = self._linked()

    @property
    def may_search(self) -> bool:
        """Tell whether the agent's owner lets it find tools that are not linked."""
        return (self._arm or self._agent).discovery_mode != DiscoveryMode.LINKED

    def schemas(self) -> list[JsonObject]:
        """Return the tools in the shape of OpenAI's chat completions, our own first."""
        own = {SEARCH_TOOLS, ASK_USER}
        specs = [spec for name, spec in self.toolset.items() if name not in own]
        tools = [model_schema(spec) for spec in specs]
        if self.code is not None:
            tools.append(code_schema(self.code, (spec.wire_name for spec in specs)))
        tools = [ASK_USER_SCHEMA, *tools]
        return [SEARCH_TOOLS_SCHEMA, *tools] if self.may_search else tools

    def discover(
        self, need: str, recent: Sequence[str] = (), limit: int | None = None
    ) -> JsonObject:
        """Search for what a message needs, add what fits, and return what was found.

        That is `{query, tools, took_ms, mode, error?}`; `tools`, the best first, are `{name, title,
        score, parts, mode, why, injected, reason, duplicates}`. Neither a search that fails nor a
        tool that does not load is an error of the turn: both are told here. What was said is what
        later searches of the model are understood by.
        """
        self._said = (*recent, need)
        return self._discovered(Wanted(need=need), recent, limit)

    def _discovered(self, wanted: Wanted, recent: Sequence[str], limit: int | None) -> JsonObject:
        found: JsonObject = {
            "query": wanted.told,
            "tools": list(self.unloaded),
            "took_ms": 0,
            "mode": wanted.mode,
        }
        if not self.may_search:
            return found
        most = self._agent.max_found_tools
        limit = most if limit is None else min(limit, most)
        try:
            answers = searched(
                wanted,
                user=self._context.user,
                recent=recent,
                limit=limit,
                exclude=self.toolset.ids() | code_ids(),
                scopes=self._context.scopes,
            )
        except ToolError as problem:
            return {**found, "error": problem.as_dict()}
        except Exception:  # the turn goes on with what it has, whatever is wrong with the search
            logger.exception("The tool search failed")
            error = {"code": "search_failed", "message": "The tool search failed.", "hint": ""}
            return {**found, "error": error}
        for answer in answers:
            found["tools"] += self._added(answer, wanted)
        return {
            **found,
            "took_ms": round(sum(answer.took_ms for answer in answers), 2),
            "dense": answers[-1].dense,
        }

    async def call(
        self,
        name: str,
        arguments: JsonObject,
        progress: Progress,
        *,
        call_id: str = "",
        approved: bool = False,
    ) -> Answer | Pause:
        """Run the tool that the model named; every problem is an answer, unless a person can
        mend it: then the call waits. `approved` is what a person said to this very call."""
        if name == SEARCH_TOOLS and self.may_search:
            return await in_thread(self._search_answer, arguments)
        if name == ASK_USER:
            return question_put(arguments)
        if self.code is not None and name == self.code.wire_name:
            context = self._context.derive(
                progress=progress, tools=lambda: self.toolset, approved=approved
            )
            return await in_tool_thread(self._called, self.code, arguments, context)
        try:
            spec = self.toolset.named(name)
        except ToolError as error:
            return Answer.failed(error, tool=name)
        context = self._context.derive(progress=progress, approved=approved)
        return await in_tool_thread(self._called, spec, arguments, context)

    def _called(
        self, spec: ToolSpec, arguments: JsonObject, context: CallContext
    ) -> Answer | Pause:
        """Call a tool; its answer holds nothing that this conversation keeps secret."""
        result = invoke(spec, arguments, context)
        if pause := pause_of(result, spec, arguments):
            return pause
        answer = Answer.of(result)
        if self._secrecy is None:
            return answer
        return kept_if_large(
            answer.masked(self._secrecy.look()),
            tool=spec.wire_name,
            conversation_id=self._secrecy.conversation.pk,
            invocation_id=result.invocation_id,
        )

    def restore(self, names: Collection[str]) -> None:
        """Add tools that earlier searches of this turn found; what is gone since is left out."""
        missing = [name for name in names if name not in self.toolset]
        tools = tools_usable_by(self._context.user).filter(wire_name__in=missing)
        for tool in tools.order_by("wire_name", "pk"):
            self._add(tool)

    def _linked(self) -> Toolset:
        try:
            return linked_toolset(self._agent, self._context.user, self._arm)
        except DomainError:
            return self._linked_one_by_one()

    def _linked_one_by_one(self) -> Toolset:
        """Load what can be loaded of the linked tools and keep the reasons for the others."""
        pins = pins_of(self._agent, self._arm)
        toolset = Toolset()
        for tool in linked_tools(self._agent, self._context.user, self._arm):
            try:
                toolset = toolset.plus([load_spec(tool, pins.get(tool.pk))])
            except DomainError as error:
                self.unloaded.append(_entry_of(tool.wire_name, tool.title, error.message))
        return toolset

    def _added(self, answer: SearchAnswer, wanted: Wanted) -> list[JsonObject]:
        """Load the hits that fit into the toolset; return the entries of the found panel."""
        tools = Tool.objects.in_bulk([hit.tool_id for hit in answer.found])
        entries = []
        for hit in _shown(answer):
            reason = hit.reason
            if hit.injected:
                reason = self._add(tools.get(hit.tool_id))
            spec = self.toolset.get(hit.wire_name) if not reason else None
            why = hit.why or (wanted.why(spec) if spec else "")
            entries.append(_entry_of_hit(hit, reason) | {"mode": answer.mode.value, "why": why})
        return entries

    def _add(self, tool: Tool | None) -> str:
        """Load one tool into the toolset; return why not, or nothing."""
        if tool is None:
            return "was deleted just now"
        if self._context.denied(tool.pk):
            return "this agent is set to deny it"
        try:
            specs = load_specs([tool])
            with self._lock:
                self.toolset = self.toolset.plus(specs)
        except DomainError as error:
            return error.message
        return ""

    def _search_answer(self, arguments: JsonObject) -> Answer:
        started = monotonic()
        try:
            checked = validate_arguments(SEARCH_TOOLS_SCHEMA["function"]["parameters"], arguments)
            wanted = Wanted.of(checked)
        except ToolError as error:
            return Answer.failed(error, tool=SEARCH_TOOLS)
        with self._lock:
            earlier = self._searched.get(wanted.key)
        if earlier is not None:
            names = ", ".join(earlier) or "none"
            output: JsonObject = {
                "tools": [],
                "note": f"You searched for this already and found: {names}. Stop searching: use "
                "what you have, or tell the user what is missing.",
            }
            return Answer(status="succeeded", value=output)
        found = self._discovered(wanted, self._said, checked["limit"])
        duration = round((monotonic() - started) * 1000)
        if problem := found.get("error"):
            details = {"found": found}
            return Answer(status="failed", value=problem, duration_ms=duration, details=details)
        usable = [
            (self.toolset[entry["name"]], entry["why"])
            for entry in found["tools"]
            if entry["injected"] and entry["name"] in self.toolset
        ]
        with self._lock:
            self._searched[wanted.key] = [spec.wire_name for spec, _ in usable]
        return Answer(
            status="succeeded",
            value=output_of(usable, at_hand(found["tools"])),
            duration_ms=duration,
            details={"found": found},
        )


def _shown(answer: SearchAnswer) -> Iterator[Hit]:
    """Yield what is given and the best that is not; a copy is told of with what it copies."""
    rejected = SHOWN_REJECTED
    for hit in answer.hits:
        if hit.injected or (rejected > 0 and hit.reason != DUPLICATE):
            rejected -= not hit.injected
            yield hit


def _entry_of_hit(hit: Hit, reason: str) -> JsonObject:
    return {
        "name": hit.wire_name,
        "title": hit.title,
        "score": hit.score,
        "parts": dict(hit.parts),
        "injected": not reason,
        "reason": reason,
        "duplicates": [each.wire_name for each in hit.duplicates],
    }


def _entry_of(name: str, title: str, reason: str) -> JsonObject:
    return {
        "name": name,
        "title": title,
        "score": 0.0,
        "parts": {},
        "injected": False,
        "reason": reason,
        "duplicates": [],
        "mode": Mode.WORDS.value,
        "why": "",
    }
