"""The picker: what a step may read, in sections of one tree each."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.timesince import timesince

from sequences.forms.drafts import StepDraft
from sequences.forms.reach import Reach
from sequences.forms.schema_fields import free_name
from sequences.picking import Node, Spot, schema_tree, value_tree


@dataclass(frozen=True, kw_only=True)
class Section:
    """One thing to read: `origin` says where the shown values are from, `hint` why there are none.

    An output without a name gets `store_as` when something of it is picked, in the form's field
    `store_field`.
    """

    title: str
    tree: Node | None
    origin: str = ""
    when: datetime | None = None
    hint: str = ""
    store_field: str = ""
    store_as: str = ""

    @property
    def ago(self) -> str:
        """Return how long ago the shown values were there, in words."""
        if self.when is None:
            return ""
        words = timesince(self.when)
        return "just now" if words.startswith("0") else f"{words} ago"


@dataclass(frozen=True, kw_only=True)
class Picker:
    """What is shown; `may_repeat` says that the step can be repeated for a list that is picked."""

    sections: tuple[Section, ...]
    may_repeat: bool


def picker_of(reach: Reach, place: int | None, *, with_item: bool = True) -> Picker:
    """Return what the step at `place` may read; None: what the final output may."""
    step = None if place is None else reach.draft.steps[place]
    return Picker(
        sections=tuple(_sections(reach, place, with_item=with_item)),
        may_repeat=step is not None and with_item and not step.each.source,
    )


def _sections(reach: Reach, place: int | None, *, with_item: bool) -> Iterator[Section]:
    known = reach.known(place)
    if place is not None and with_item and reach.draft.steps[place].each.source:
        yield _item(reach, place, known.context)
    yield _initial(reach)
    taken = {step.store_as.strip() for step in reach.draft.steps if step.store_as.strip()}
    for step in reversed(reach.readable(place)):
        if not step.disabled:
            section = _output(reach, step, taken)
            taken.add(section.store_as)
            yield section


def _item(reach: Reach, place: int, context: Mapping[str, Any]) -> Section:
    title, spot = "The item that the step is repeated for", Spot("item")
    if "item" in context:
        tree = value_tree(context["item"], spot, "the item")
        return Section(title=title, tree=tree, origin="the first item of the list")
    return Section(
        title=title,
        tree=schema_tree(reach.item_schema(place), spot, "the item"),
        hint="Run a test of the step that gives the list to see its items.",
    )


def _initial(reach: Reach) -> Section:
    title, spot, label = "The sequence's input", Spot("initial"), "all inputs"
    declared = schema_tree(reach.initial_schema, spot, label)
    shown = value_tree(reach.initial, spot, label)
    values = {node.label: node for node in shown.children}
    # What the schema declares is there to pick even where the sample input leaves it out.
    children = [values.pop(node.label, node) for node in declared.children]
    tree = Node(
        label=label,
        spot=spot,
        kind="object",
        children=(*children, *values.values()),
    )
    hint = "" if children or values else "The sequence has no input yet. Add one at “Inputs”."
    return Section(title=title, tree=tree, origin=reach.initial_from, hint=hint)


def _output(reach: Reach, step: StepDraft, taken: set[str]) -> Section:
    index = reach.draft.steps.index(step)
    words = reach.words(step)
    name = step.store_as.strip()
    title = words[:1].upper() + words[1:]
    store_as = name or free_name(_name_of(reach, step, index), taken)
    store_field = "" if name else f"steps-{index}-store_as"
    spot, label = Spot("steps", store_as), "the whole output"
    seen, schema = reach.seen.get(step.key), reach.output_schema(step)
    if seen is not None:
        tree, hint = value_tree(seen.value, spot, label), ""
    elif schema is not None:
        tree = schema_tree(schema, spot, label)
        hint = "What its tool says that it gives. Run a test to see real values."
    else:
        tree = Node(label=label, spot=spot, kind="anything")
        hint = "Its tool does not say what it gives. Run a test to see it."
    return Section(
        title=title,
        tree=tree,
        origin=seen.where if seen else "",
        when=seen.when if seen else None,
        hint=hint,
        store_field=store_field,
        store_as=store_as if store_field else "",
    )


def _name_of(reach: Reach, step: StepDraft, index: int) -> str:
    tool = reach.tool_of(step)
    words = step.title or step.ask_title or (tool.title if tool else "")
    name = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")[:40]
    return name if name and not name[0].isdigit() else f"step_{index + 1}"
