"""What an agent may call for a person, whether or not the model is told of it."""

import difflib
from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

from agents.access import as_linked, linked_tools, pins_in, toolset_of
from agents.approvals import settings_of, verdict_of
from agents.models import Agent, Arm
from config.lib.errors import DomainError
from registry.approval import Effect
from registry.context import CallContext
from registry.errors import UnknownTool
from registry.loading import load_spec, load_specs
from registry.models import Tool
from registry.models.tool import ToolKind
from registry.search.service import search, unfit
from registry.selectors import BLOCKED, tools_usable_by
from registry.specs import ToolSpec
from registry.toolset import Toolset

DENIED = "this agent is set to deny it"

_READ = (
    *("wire_name", "title", "version", "required_scopes", "deprecated_on", "deleted_at"),
    *("import_health", "execution_health", "last_health_check_at"),
    *("successor__wire_name", "successor__deleted_at"),
)
"""What a tool is loaded and judged by, and no more: a conversation may keep dozens."""

NEAREST = 5
"""Names that are told to a model which called a tool that there is not."""


class Registered:
    """The linked tools, loaded, and all others that the agent and the person may use, at need.

    A linked tool has its link's version, name and description, however it is come by.
    `unloaded` are the linked tools that could not be loaded, with the reasons.
    """

    def __init__(self, agent: Agent, context: CallContext, arm: Arm | None = None) -> None:
        self._agent = agent
        self._context = context
        self._arm = arm
        self._settings = settings_of(agent.pk)
        self.unloaded: list[tuple[Tool, str]] = []
        self.linked = self._linked()
        self._by_id = {spec.tool_id: spec for spec in self.linked.values()}

    def renew(self) -> None:
        """Read anew what the agent's settings say of tools: a turn may take hours."""
        self._settings = settings_of(self._agent.pk)

    def found(
        self, tool_ids: Collection[UUID], read: Mapping[UUID, Tool]
    ) -> tuple[dict[UUID, ToolSpec], dict[UUID, str]]:
        """Return the specs of what a search just found, and why others were not loaded.

        What the search has `read` is not read again.
        """
        tools = {each: read[each] for each in tool_ids if each in read}
        if unread := set(tool_ids) - tools.keys():
            rows = Tool.objects.select_related("successor").only(*_READ)
            tools |= rows.in_bulk(unread)
        problems = dict.fromkeys(set(tool_ids) - tools.keys(), "was deleted just now")
        return self._loaded(tools.values(), problems)

    def kept(
        self, tool_ids: Collection[UUID]
    ) -> tuple[dict[UUID, ToolSpec], list[tuple[Tool, str]]]:
        """Return the specs of what was found before, and why others may not be called any more."""
        allowed = tools_usable_by(self._context.user).select_related(None)
        usable = allowed.select_related("successor").only(*_READ).in_bulk(tool_ids)
        gone = set(tool_ids) - usable.keys()
        missing = Tool.objects.select_related("package").in_bulk(gone) if gone else {}
        problems = {tool.pk: _gone(tool) for tool in missing.values()}
        scopes = self._context.scopes
        for tool in usable.values():
            if scopes is not None and (lacking := set(tool.required_scopes) - scopes):
                problems[tool.pk] = f"requires the scope {', '.join(sorted(lacking))}"
            elif reason := unfit(tool):
                problems[tool.pk] = reason
        fit = [tool for tool in usable.values() if tool.pk not in problems]
        specs, problems = self._loaded(fit, problems)
        tools = usable | missing
        return specs, [(tools[tool_id], reason) for tool_id, reason in problems.items()]

    def named(self, name: str) -> ToolSpec | None:
        """Return the tool that the model called by its exact name, or None.

        Whether the call is allowed is for `invoke` to say.
        """
        if name in self.linked:
            return self.linked[name]
        usable = tools_usable_by(self._context.user).exclude(kind=ToolKind.CODE)
        tool = usable.filter(wire_name=name).first()
        if tool is None:
            return None
        try:
            return self._by_id.get(tool.pk) or load_spec(tool)
        except DomainError:
            return None

    def unknown(self, name: str, visible: Iterable[str]) -> UnknownTool:
        """Return the error for a name that no tool has, with those that come nearest to it."""
        name = name[:64]
        known = {*visible, *self.linked}
        near = difflib.get_close_matches(name, sorted(known), n=NEAREST)
        words = name.replace("_", " ").replace("-", " ")
        user, scopes = self._context.user, self._context.scopes
        try:
            hits = search(words, user=user, limit=NEAREST, scopes=scopes).found
        except DomainError:
            hits = ()
        near = list(dict.fromkeys([*near, *(hit.wire_name for hit in hits)]))[:NEAREST]
        meant = f"Did you mean {', '.join(near)}?" if near else _instead(known)
        return UnknownTool(f"There is no tool named “{name}”.", meant, tool=name, nearest=near)

    def _loaded(
        self, tools: Iterable[Tool], problems: dict[UUID, str]
    ) -> tuple[dict[UUID, ToolSpec], dict[UUID, str]]:
        tools = list(tools)
        settings = self._settings
        if settings is not None:
            problems |= {tool.pk: DENIED for tool in tools if settings.denies_link(tool.pk)}
        specs = {each.pk: self._by_id[each.pk] for each in tools if each.pk in self._by_id}
        others = [tool for tool in tools if tool.pk not in specs and tool.pk not in problems]
        try:
            specs |= {spec.tool_id: spec for spec in load_specs(others)}
        except DomainError:
            for tool in others:
                try:
                    specs[tool.pk] = load_spec(tool)
                except DomainError as error:
                    problems[tool.pk] = error.message
        for tool_id, spec in specs.items():
            if (verdict := verdict_of(settings, spec)).effect == Effect.DENY:
                problems[tool_id] = verdict.reason or DENIED
        usable = {tool_id: spec for tool_id, spec in specs.items() if tool_id not in problems}
        return usable, problems

    def _linked(self) -> Toolset:
        try:
            return toolset_of(self._agent, self._context.user, self._arm, self._settings)
        except DomainError:
            return self._linked_one_by_one()

    def _linked_one_by_one(self) -> Toolset:
        """Load what can be loaded of the linked tools and keep the reasons for the others."""
        toolset = Toolset()
        if (settings := self._settings) is None:
            return toolset
        pins, named = pins_in(settings, self._arm), as_linked(settings)
        for tool in linked_tools(self._agent, self._context.user, self._arm):
            try:
                spec = load_spec(tool, pins.get(tool.pk))
                if verdict_of(settings, spec).effect != Effect.DENY:
                    toolset = toolset.plus([named(spec)])
            except DomainError as error:
                self.unloaded.append((tool, error.message))
        return toolset


def _instead(names: Collection[str]) -> str:
    """Return what to do where no name comes near: use one of few, or search."""
    few = 0 < len(names) <= NEAREST
    return f"You have {', '.join(sorted(names))}; else search." if few else "Search for it."


def _gone(tool: Tool) -> str:
    """Return why a person may no longer use a tool that was found for them before."""
    package = tool.package
    if tool.deleted_at:
        return "was deleted"
    if tool.review_status in BLOCKED or (package and package.review_status in BLOCKED):
        return "was refused by review"
    if tool.stopped_at or (package and package.stopped_at):
        return "was stopped by a governor"
    return "you may no longer use it"
