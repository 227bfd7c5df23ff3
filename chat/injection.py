"""Put together what a model may call in a turn: linked tools, found tools, the search itself."""

import logging
from collections.abc import Sequence
from time import monotonic

from agents.models import Arm
from agents.models.agent import SEARCHES_FIRST, DiscoveryMode
from chat.answers import Answer
from chat.artifacts import kept_if_large
from chat.models import Message, Turn
from chat.offered import Offered
from chat.pauses import Pause, ask_of_pending, pause_of
from chat.questions import ASK_USER_SCHEMA, question_put
from chat.repeats import Searches
from chat.replaying import keep, replay_of
from chat.searching import output_of
from chat.secrecy import Secrecy
from chat.telling import entry_of_hit, shown_hits
from chat.threads import in_thread, in_tool_thread
from chat.tool_schemas import SEARCH_TOOLS_SCHEMA, code_schema, model_schema
from chat.visible import Origin
from config.lib.types import JsonObject
from registry.context import CallContext, Progress
from registry.errors import ToolError, UnknownTool
from registry.execution import invoke
from registry.finding import SEARCH_TOOLS, Wanted, searched
from registry.loading import code_ids, code_spec
from registry.questions import ASK_USER
from registry.results import ToolResult
from registry.schemas import validate_arguments
from registry.search.in_force import weights_now
from registry.search.service import AT_HAND, SearchAnswer
from registry.specs import ToolSpec
from registry.toolset import Toolset

logger = logging.getLogger(__name__)


class Toolbox:
    """The tools of one turn: it grows when a search finds more, and keeps within its budget.

    A turn that is taken up again has what it found before, and knows what it searched for.
    """

    def __init__(
        self,
        turn: Turn,
        context: CallContext,
        secrecy: Secrecy | None = None,
        arm: Arm | None = None,
    ) -> None:
        agent = turn.conversation.agent
        self._turn = turn
        self._agent = agent
        self._mode = DiscoveryMode((arm or agent).discovery_mode)
        self._secrecy = secrecy
        self._context = context
        self._said: tuple[str, ...] = ()
        self.code = code_spec() if agent.code_execution else None
        """The running of code, where the agent's owner allows it and it is installed."""
        self._always = [*([SEARCH_TOOLS_SCHEMA] if self.may_search else []), ASK_USER_SCHEMA]
        if self.code is not None:
            self._always.append(code_schema(self.code))
        self._offered = Offered(turn, context, arm, self._always)
        self._searches = Searches()
        if turn.found is not None:
            rows = Message.objects.filter(turn=turn).order_by("position")
            self._searches = Searches.of(list(rows))

    @property
    def may_search(self) -> bool:
        """Tell whether the agent's owner lets it find tools that are not linked."""
        return self._mode != DiscoveryMode.LINKED

    @property
    def toolset(self) -> Toolset:
        """Return the tools that the model is told of now."""
        return self._offered.visible.toolset

    @property
    def linked(self) -> Toolset:
        """Return the linked tools that the model is told of; they stay the same all turn."""
        shown = self._offered.visible.shown
        return Toolset(each.spec for each in shown if each.origin == Origin.LINKED)

    @property
    def deferred(self) -> list[str]:
        """Return the names of linked tools for which the budget has no room.

        The filter hides all linked tools, and does not name them either.
        """
        if self._mode == DiscoveryMode.FILTER:
            return []
        return [each.spec.wire_name for each in self._offered.deferred]

    def schemas(self) -> list[JsonObject]:
        """Return the tools in the shape of OpenAI's chat completions, what is new last.

        The search, the question to the user, the running of code, linked tools by name, found
        ones as they were found: the same tools give the same bytes, and a find changes nothing that
        stands before it.
        """
        self._searches.next_round()
        shown = self._offered.visible.shown
        tools = [model_schema(e.spec, guided=e.origin != Origin.LINKED) for e in shown]
        return [*self._always, *tools]

    def discover(
        self,
        need: str,
        recent: Sequence[str] = (),
        limit: int | None = None,
        *,
        keep: bool = True,
    ) -> JsonObject:
        """Search for what a message needs, add what fits, and return what was found.

        That is `{query, tools, took_ms, mode, searched, visible, tokens, deferred, evicted,
        error?}`; `tools`, the best first, are `{name, title, score, parts, mode, why, injected,
        reason, cause, tokens, duplicates}`, for the others see `chat.telling.account_of`. Where
        the mode does not search first, it is what the model is told of. Neither a search that fails
        nor a tool that does not load is an error of the turn: both are told here. What was said is
        what later searches of the model are understood by. A turn that is taken up again has
        searched already. Without `keep`, what was discovered is written down by `keep`.
        """
        self._said = (*recent, need)
        if self._turn.found is not None:
            found: JsonObject = self._turn.found
            return found
        if self._mode in SEARCHES_FIRST:
            found = self._discovered(Wanted(need=need), recent, limit)
        else:
            found = {"query": "", "tools": [], "took_ms": 0, "mode": "", "searched": False}
        found["tools"] = [*self._offered.untold, *found["tools"]]
        if keep:
            self.keep()
        return {**found, **self._offered.account()}

    def keep(self) -> None:
        """Write down what was discovered: beside the model's work, which need not wait for it."""
        self._offered.keep()

    def _discovered(self, wanted: Wanted, recent: Sequence[str], limit: int | None) -> JsonObject:
        found: JsonObject = {
            "query": wanted.told,
            "tools": [],
            "took_ms": 0,
            "mode": wanted.mode,
            "searched": True,
        }
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
        found["tools"] = self._added(answers, wanted)
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
        self._searches.called()
        context = self._context.derive(progress=progress, approved=approved, call_id=call_id)
        if self.code is not None and name == self.code.wire_name:
            context = context.derive(tools=lambda: self.toolset)
            return await in_tool_thread(self._run_code, self.code, arguments, context)
        return await in_tool_thread(self._called_by_name, name, arguments, context)

    def _called_by_name(
        self, name: str, arguments: JsonObject, context: CallContext
    ) -> Answer | Pause:
        try:
            spec = self._named(name)
        except UnknownTool as error:
            return Answer.failed(error, tool=name)
        self._offered.use([spec.tool_id])
        return self._called(spec, arguments, context)

    def _named(self, name: str) -> ToolSpec:
        """Return the tool of a name; one that the model was not told of is found by that.

        Raises UnknownTool with the names that come nearest.
        """
        registered = self._offered.registered
        if name in self.toolset:
            return self.toolset[name]
        if not self.may_search:
            # those for which there is no room may be called all the same
            return self.toolset.plus(registered.linked.values()).named(name)
        spec = registered.named(name)
        if spec is None:
            raise registered.unknown(name, self.toolset)
        registered.renew()
        fit, _ = registered.kept([spec.tool_id])
        self._offered.add(fit.values())
        self._offered.keep()
        return spec

    def _run_code(
        self, code: ToolSpec, arguments: JsonObject, context: CallContext
    ) -> Answer | Pause:
        """Run a program, or run it again up to where it waited; what it called counts as used."""
        place = (self._turn.pk, context.call_id)
        result = invoke(code, arguments, context.derive(replay=replay_of(*place)))
        if pending := keep(*place, result):
            return Pause(tuple(ask_of_pending(call) for call in pending))
        if pause := pause_of(result, code, arguments):
            return pause
        answer = self._answer(result, code)
        told = self.toolset
        called = {call.get("tool") for call in (answer.details or {}).get("calls", [])}
        self._offered.use([spec.tool_id for name, spec in told.items() if name in called])
        return answer

    def _called(
        self, spec: ToolSpec, arguments: JsonObject, context: CallContext
    ) -> Answer | Pause:
        """Call a tool; its answer holds nothing that this conversation keeps secret."""
        result = invoke(spec, arguments, context)
        return pause_of(result, spec, arguments) or self._answer(result, spec)

    def _answer(self, result: ToolResult, spec: ToolSpec) -> Answer:
        answer = Answer.of(result)
        if self._secrecy is None:
            return answer
        return kept_if_large(
            answer.masked(self._secrecy.look()),
            tool=spec.wire_name,
            conversation_id=self._secrecy.conversation.pk,
            invocation_id=result.invocation_id,
        )

    def _added(self, answers: Sequence[SearchAnswer], wanted: Wanted) -> list[JsonObject]:
        """Tell the model of the hits that fit; return the entries of the panel."""
        hits = [(hit, answer.mode) for answer in answers for hit in shown_hits(answer)]
        read = {tool_id: tool for answer in answers for tool_id, tool in answer.tools.items()}
        specs, problems = self._offered.registered.found([hit.tool_id for hit, _ in hits], read)
        injected = [hit.tool_id for hit, _ in hits if hit.injected]
        problems |= self._offered.add(specs[each] for each in injected if each in specs)
        floor = weights_now().weights.floor
        again = [h.tool_id for h, _ in hits if h.reason == AT_HAND and h.score >= floor]
        self._offered.use(again)
        self._offered.pass_over(specs.values())
        entries = []
        for hit, mode in hits:
            spec = specs.get(hit.tool_id)
            reason = hit.reason or problems.get(hit.tool_id, "")
            tokens = self._offered.tokens(spec, found=True) if spec else 0
            why = hit.why or (wanted.why(spec) if spec and not reason else "")
            told = entry_of_hit(hit, reason, spec, tokens)
            entries.append(told | {"mode": mode.value, "why": why})
        return entries

    def _search_answer(self, arguments: JsonObject) -> Answer:
        started = monotonic()
        try:
            checked = validate_arguments(SEARCH_TOOLS_SCHEMA["function"]["parameters"], arguments)
            wanted = Wanted.of(checked)
        except ToolError as error:
            return Answer.failed(error, tool=SEARCH_TOOLS)
        self._searches.asked()
        if refusal := self._searches.refusal(wanted):
            return Answer(status="succeeded", value={"tools": [], "note": refusal})
        self._offered.registered.renew()
        found = self._discovered(wanted, self._said, checked["limit"])
        self._offered.keep()
        duration = round((monotonic() - started) * 1000)
        found |= self._offered.account()
        details = {"found": found}
        if problem := found.get("error"):
            return Answer(status="failed", value=problem, duration_ms=duration, details=details)
        told = self.toolset
        usable = [
            (told[entry["name"]], entry["why"])
            for entry in found["tools"]
            if entry["injected"] and entry["name"] in told
        ]
        had = [entry["name"] for entry in found["tools"] if entry["reason"] == AT_HAND]
        self._searches.made(wanted, [spec.wire_name for spec, _ in usable])
        return Answer(
            status="succeeded",
            value=output_of(usable, had),
            duration_ms=duration,
            details=details,
        )
