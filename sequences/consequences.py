"""Work out what becomes of each sequence when tools that it calls change or go."""

from collections.abc import Mapping
from uuid import UUID

from django.urls import reverse

from config.lib.ids import uuid_in
from config.lib.types import JsonObject
from registry.history import governs_tools
from registry.impact.parts import Change, Dependent, Kind, Trouble, Use
from registry.models import Tool, ToolVersion
from registry.models.tool import ToolKind
from sequences.callers import Callers, Key, Node
from sequences.definition import DefinitionInvalid, Step, parse
from sequences.dry_run import introduced, shape_key
from sequences.flow import output_schema_of
from sequences.shapes import ToolShape


class Consequences:
    """The sequences that were found, and what each would come to."""

    def __init__(self, change: Change, callers: Callers, visible: set[UUID]) -> None:
        self._change = change
        self._callers = callers
        self._visible = visible
        self._sees_all = governs_tools(change.reader)
        self._told: dict[Key, Dependent | None] = {}
        self._before, self._after = _shapes(change, callers)

    def all(self) -> tuple[Dependent, ...]:
        """Return what is told of every sequence that the change has to do with."""
        told = (self._of(key) for key in self._callers.nodes)
        return tuple(item for item in told if item is not None)

    def _of(self, key: Key) -> Dependent | None:
        """Return what is told of one; None for one whose pins all lead elsewhere."""
        if key not in self._told:
            self._told[key] = None  # whoever calls itself through others never comes to an end
            self._told[key] = self._worked_out(self._callers.nodes[key])
        return self._told[key]

    def _worked_out(self, node: Node) -> Dependent | None:
        uses: list[Use] = []
        troubles: list[Trouble] = []
        paths: list[tuple[str, ...]] = []
        for step in node.definition.steps:
            tool_id = uuid_in(step.tool)
            if tool_id in self._change.asked:
                uses.append(self._direct(step, tool_id))
                paths.append(())
                if self._change.takes_away(tool_id) and not step.disabled:
                    troubles.append(self._gone(step, tool_id))
            elif inner := self._inner(step, tool_id):
                uses.append(_use(step, inner.id, inner.label, kept=False))
                paths.append((*inner.path, inner.label))
                troubles += [] if step.disabled else _from_within(step, inner)
        if not uses:
            return None
        troubles += introduced(
            node.definition, node.input_schema, before=self._before, after=self._after
        )
        tool = node.tool
        return Dependent(
            kind=Kind.SEQUENCE,
            id=tool.pk,
            name=tool.title,
            owner=tool.owner.username if tool.owner else "",
            url=reverse("registry:tool_detail", args=[tool.pk]) if self._sees(node) else "",
            seen=self._sees(node) or self._sees_all,
            version=node.number,
            state=node.state,
            uses=tuple(uses),
            path=min(paths, key=len),
            troubles=tuple(troubles),
        )

    def _sees(self, node: Node) -> bool:
        """Tell whether the reader may see it; what waits for review is for its owner alone."""
        is_draft = node.state == "staged" and node.tool.owner_id != self._change.reader.pk
        return node.tool.pk in self._visible and not is_draft

    def _direct(self, step: Step, tool_id: UUID) -> Use:
        kept = step.tool_version is not None and not self._change.takes_away(tool_id)
        return _use(step, tool_id, self._change.tools[tool_id].wire_name, kept=kept)

    def _inner(self, step: Step, tool_id: UUID | None) -> Dependent | None:
        """Return the touched sequence that a step calls."""
        if tool_id is None:
            return None
        key = (tool_id, step.tool_version or self._callers.live.get(tool_id, 0))
        inner = self._of(key) if key in self._callers.nodes else None
        return inner if inner is not None and not inner.kept else None

    def _gone(self, step: Step, tool_id: UUID) -> Trouble:
        tool = self._change.tools[tool_id]
        instead = f"“{tool.successor.wire_name}”" if tool.successor else "another tool"
        return Trouble(
            where=f"step {step.step_number}, its tool",
            message=f"It calls “{tool.wire_name}”, which nobody could call any more. "
            f"Choose {instead} for this step, or take the step out.",
            step=step.step_number,
        )


def _use(step: Step, tool_id: UUID, name: str, *, kept: bool) -> Use:
    pinned = step.tool_version
    return Use(
        tool_id=tool_id,
        tool=name,
        how=f"step {step.step_number}" + (f", pinned to v{pinned}" if pinned else ""),
        step=step.step_number,
        pinned=pinned,
        kept=kept,
    )


def _from_within(step: Step, inner: Dependent) -> list[Trouble]:
    first = next((trouble for trouble in inner.troubles if trouble.breaks), None)
    if first is None:
        return []
    told = "It calls a sequence of another person, which would break. Ask its owner."
    if inner.seen:
        told = (
            f"It calls the sequence “{inner.name}”, which would break ({first.where}). "
            f"Mend “{inner.name}” first."
        )
    where = f"step {step.step_number}, its tool"
    return [Trouble(where=where, message=told, step=step.step_number)]


def _shapes(
    change: Change, callers: Callers
) -> tuple[Mapping[str, ToolShape], Mapping[str, ToolShape]]:
    """Return the tools of all steps, as they are and as they would be, by `shape_key`."""
    steps = [step for node in callers.nodes.values() for step in node.definition.steps]
    ids = {tool_id for step in steps if (tool_id := uuid_in(step.tool))}
    tools = {str(tool.pk): tool for tool in Tool.objects.filter(pk__in=ids, deleted_at=None)}
    pinned = _pinned(
        {(uuid_in(step.tool), step.tool_version) for step in steps if step.tool_version}
    )
    before: dict[str, ToolShape] = {}
    after: dict[str, ToolShape] = {}
    for step in steps:
        key, tool = shape_key(step), tools.get(step.tool)
        if tool is None or key in before:
            continue
        snapshot = (
            pinned.get((tool.pk, step.tool_version or 0)) if step.tool_version else _now(tool)
        )
        if snapshot is None:
            continue
        before[key] = _shape(tool, snapshot)
        proposed = None if step.tool_version else change.proposed(tool.pk)
        after[key] = _shape(tool, dict(proposed)) if proposed else before[key]
    return before, after


def _pinned(wanted: set[tuple[UUID | None, int | None]]) -> dict[tuple[UUID, int], JsonObject]:
    if not wanted:
        return {}
    versions = ToolVersion.objects.filter(
        tool_id__in={tool_id for tool_id, _ in wanted if tool_id},
        number__in={number for _, number in wanted if number},
    )
    return {(version.tool_id, version.number): version.snapshot for version in versions}


def _now(tool: Tool) -> JsonObject:
    return {
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "definition": tool.definition,
    }


def _shape(tool: Tool, snapshot: JsonObject) -> ToolShape:
    output = snapshot["output_schema"]
    if tool.kind == ToolKind.SEQUENCE:
        try:
            output = output_schema_of(parse(snapshot["definition"]))
        except DefinitionInvalid:
            output = None
    return ToolShape(tool.wire_name, snapshot["input_schema"], output_schema=output)
