"""What each step of a draft may read: the input, earlier outputs, and the item of its loop."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User

from config.lib.types import JsonObject, JsonSchema, JsonValue
from sequences.definition import Approval
from sequences.forms.definitions import definition_from_draft
from sequences.forms.drafts import APPROVAL, BESIDE, Draft, StepDraft
from sequences.forms.step_tools import StepTool, tool_at, tools_of
from sequences.known import Known, source_from_json
from sequences.mapping import (
    ExpressionError,
    MappingFailed,
    compile_expression,
    resolve_inputs,
)
from sequences.reading import ANY, Missing, inlined, items_of, read
from sequences.samples import Origin, Place, Seen, outputs_seen, sample_input
from sequences.shapes import ToolShape, answer_schema

OBJECT: JsonSchema = {"type": "object", "properties": {}}


@dataclass(frozen=True, kw_only=True)
class Reach:
    """A draft with what is known of the values in it.

    `seen` are outputs by the key of their step; `definition` is as `definition_from_draft` has it.
    """

    draft: Draft
    chosen: Mapping[str, StepTool]
    definition: JsonObject
    initial: JsonObject
    initial_from: str
    seen: Mapping[str, Seen]

    @property
    def initial_schema(self) -> JsonSchema:
        """Return the sequence's input schema as far as it can be read."""
        schema = _json(self.draft.schema)
        return schema if isinstance(schema, dict) else OBJECT

    @property
    def tools(self) -> dict[str, ToolShape]:
        """Return the shapes of the tools by their ids, with the versions that steps pin."""
        shapes: dict[str, ToolShape] = {}
        for step in self.draft.steps:
            live = self.chosen.get(step.tool.strip())
            if live is None:
                continue
            shape = shapes.get(live.id) or ToolShape(
                name=live.name, input_schema=live.input_schema, output_schema=live.output_schema
            )
            version, tool = step.version.strip(), self.tool_of(step)
            if version.isdecimal() and tool is not None:
                number = int(version)
                shape = replace(
                    shape,
                    pinned={**shape.pinned, number: tool.input_schema},
                    pinned_outputs={**shape.pinned_outputs, number: tool.output_schema},
                )
            shapes[live.id] = shape
        return shapes

    def tool_of(self, step: StepDraft) -> StepTool | None:
        """Return the tool that a step calls."""
        return tool_at(self.chosen, step.tool, step.version)

    def index_of(self, key: str) -> int | None:
        """Return the place of a step from 0; None for the final output and what is not there."""
        return next((i for i, step in enumerate(self.draft.steps) if step.key == key), None)

    def readable(self, place: int | None) -> list[StepDraft]:
        """Return the steps whose output the step at `place` may read; None: the final output."""
        return readable(self.draft.steps, place)

    def output_schema(self, step: StepDraft) -> JsonSchema | None:
        """Return what is known of a step's output by schemas, or None."""
        if step.kind == APPROVAL:
            return _approval_schema(step)
        tool = self.tool_of(step)
        schema = tool.output_schema if tool else None
        if schema is None or not step.each.source:
            return schema
        return {"type": "array", "items": inlined(schema)}

    def known(self, place: int | None) -> Known:
        """Return what a row of the step at `place` may read."""
        steps = [step for step in self.readable(place) if step.store_as.strip()]
        values = {
            step.store_as.strip(): self.seen[step.key].value
            for step in steps
            if step.key in self.seen
        }
        context: JsonObject = {"initial": self.initial, "steps": values}
        item_schema = None
        if place is not None and self.draft.steps[place].each.source:
            items = self.items(place, context)
            if items:
                context |= {"item": items[0], "index": 0}
            item_schema = self.item_schema(place)
        return Known(
            context=context,
            initial_schema=self.initial_schema,
            schemas={
                step.store_as.strip(): schema
                for step in steps
                if (schema := self.output_schema(step)) is not None
            },
            later={
                step.store_as.strip(): self.words(step)
                for step in steps
                if step.key not in self.seen
            },
            item_schema=item_schema,
        )

    def items(self, place: int, context: Mapping[str, Any]) -> list[Any] | None:
        """Return the list that a step is repeated for; None where it is not known."""
        loop = self.definition["steps"][place].get("forEach") or {}
        source = source_from_json(loop.get("items") or {})
        if source is None:
            return None
        try:
            items = resolve_inputs({"items": source}, context)["items"]
        except MappingFailed:
            return None
        return items if isinstance(items, list) else None

    def item_schema(self, place: int) -> JsonSchema:
        """Return what is known of an item of the step's loop by schemas."""
        row = self.draft.steps[place].each
        path, start = row.path, ANY
        if row.source == "initialInput":
            start, path = self.initial_schema, json.dumps(row.value) if row.value else ""
        elif row.source == "previousStep":
            named = [s for s in self.readable(place) if s.store_as.strip() == row.value.strip()]
            start = (self.output_schema(named[-1]) if named else None) or ANY
        else:
            return ANY
        try:
            whole = inlined(start)
            found = read(compile_expression(path).parsed, whole) if path.strip() else whole
        except ExpressionError:
            return ANY
        item = found if isinstance(found, Missing) else items_of(found)
        return ANY if isinstance(item, Missing) else item

    def words(self, step: StepDraft) -> str:
        """Return a step by its number and title."""
        number = self.draft.steps.index(step) + 1
        tool = self.tool_of(step)
        title = step.title.strip() or step.ask_title.strip() or (tool.title if tool else "")
        return f"step {number}{f' ({title})' if title else ''}"


def readable(steps: list[StepDraft], place: int | None) -> list[StepDraft]:
    """Return the earlier steps that are not in another branch of the step's own block."""
    if place is None:
        return list(steps)
    blocks: list[tuple[int, int]] = []
    block = branch = 0
    for step in steps:
        if not step.beside:
            block, branch = block + 1, 0
        elif step.beside == BESIDE:
            branch += 1
        blocks.append((block, branch))
    here = blocks[place]
    return [
        step
        for step, there in zip(steps[:place], blocks, strict=False)
        if there[0] != here[0] or there[1] == here[1]
    ]


def output_names(steps: list[StepDraft], place: int | None) -> tuple[str, ...]:
    """Return the names of the outputs that the step at `place` may read; None: the final output."""
    return tuple(name for step in readable(steps, place) if (name := step.store_as.strip()))


def reach_of(draft: Draft, origin: Origin, user: User) -> Reach:
    """Return the draft with what is known of its values, with a handful of queries."""
    chosen = tools_of(user, draft)
    places = []
    for number, step in enumerate(draft.steps, 1):
        tool = tool_at(chosen, step.tool, step.version)
        places.append(Place(key=step.key, number=number, tool=tool.id if tool else ""))
    initial, initial_from = sample_input(origin, user)
    return Reach(
        draft=draft,
        chosen=chosen,
        definition=definition_from_draft(draft, chosen),
        initial=_with_defaults(initial, draft.schema),
        initial_from=initial_from,
        seen=outputs_seen(origin, user, places),
    )


def _with_defaults(initial: JsonObject, schema: str) -> JsonObject:
    """Add what the input schema fills in by itself."""
    read_schema = _json(schema)
    properties = read_schema.get("properties") if isinstance(read_schema, dict) else None
    if not isinstance(properties, dict):
        return initial
    defaults = {
        name: inner["default"]
        for name, inner in properties.items()
        if isinstance(inner, dict) and "default" in inner
    }
    return {**defaults, **initial}


def _approval_schema(step: StepDraft) -> JsonSchema:
    form = _json(step.ask_schema)
    return answer_schema(Approval(inputSchema=form if isinstance(form, dict) else None))


def _json(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
