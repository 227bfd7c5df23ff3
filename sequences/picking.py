"""What a step may read, as a tree to pick from: real values where there are some, else schemas.

Each node knows how a mapping, an expression or a template, and a condition say it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from config.lib.types import JsonSchema, JsonValue
from registry.schema_messages import type_of, type_words
from sequences.reading import all_types, forms, inlined, items_of

MOST_NODES = 600
MOST_CHILDREN = 50
MOST_ITEMS = 5
"""Items of a list that are shown one by one."""
DEEPEST = 8
SAMPLE_LENGTH = 80
SAMPLE_KEYS = 6

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True)
class Spot:
    """A place in the context: `initial`, `item` or `steps.<name>`, and the way on from there.

    The parts are keys, positions in a list, and None for “of each item”.
    """

    root: str
    step: str = ""
    parts: tuple[str | int | None, ...] = ()

    def __truediv__(self, part: str | int | None) -> "Spot":
        return Spot(self.root, self.step, (*self.parts, part))

    @property
    def path(self) -> str:
        """Return the way from the root in JMESPath."""
        return jmespath_of(self.parts)

    @property
    def expression(self) -> str:
        """Return it as an expression over the whole context."""
        start: tuple[str | int | None, ...] = (self.root, self.step) if self.step else (self.root,)
        return jmespath_of((*start, *self.parts))

    @property
    def condition(self) -> str:
        """Return it as a condition says it; empty where CEL has no such path."""
        parts = (self.step, *self.parts) if self.step else self.parts
        if None in parts:
            return ""
        return self.root + "".join(
            f".{part}" if isinstance(part, str) and _PLAIN.match(part) else f"[{json.dumps(part)}]"
            for part in parts
        )

    @property
    def source(self) -> tuple[str, str, str]:
        """Return what a row of a mapping says: its source, value and path."""
        match self.root, self.parts:
            case "initial", ():
                return "initialInput", "", ""
            case "initial", (str(key),):
                return "initialInput", key, ""
            case "initial", _:
                return "expression", self.expression, ""
            case "item", _:
                return "item", "", self.path
            case _:
                return "previousStep", self.step, self.path


@dataclass(frozen=True, kw_only=True)
class Node:
    """One value to pick; `kind` is its type in plain words, `sample` what it is at present."""

    label: str
    spot: Spot
    kind: str
    sample: str = ""
    is_list: bool = False
    children: tuple["Node", ...] = ()
    cut: int = 0
    """Further parts that are not shown."""

    @property
    def is_each(self) -> bool:
        """Tell whether it is gathered from all items of a list."""
        return None in self.spot.parts


@dataclass
class _Budget:
    left: int = field(default=MOST_NODES)

    def take(self) -> bool:
        self.left -= 1
        return self.left >= 0


def jmespath_of(parts: Iterable[str | int | None]) -> str:
    """Return a path of keys, positions and None (for each item) in JMESPath."""
    path = ""
    for part in parts:
        match part:
            case None:
                path += "[*]"
            case int():
                path += f"[{part}]"
            case _:
                key = part if _PLAIN.match(part) else json.dumps(part)
                path += f".{key}" if path else key
    return path


def value_tree(value: JsonValue, spot: Spot, label: str) -> Node:
    """Return the tree of a real value."""
    return _of_value(value, spot, label, _Budget(), 0)


def schema_tree(schema: JsonSchema, spot: Spot, label: str) -> Node:
    """Return the tree of what a schema says that there will be."""
    return _of_schema(inlined(schema), spot, label, _Budget(), 0)


def short(value: JsonValue, length: int = SAMPLE_LENGTH) -> str:
    """Return a value as one short line."""
    if isinstance(value, str):
        text = f"“{' '.join(value[: length * 2].split())}”"
    elif isinstance(value, list):
        return f"{len(value)} item{'' if len(value) == 1 else 's'}"
    elif isinstance(value, Mapping):
        keys = ", ".join(map(str, islice(value, SAMPLE_KEYS)))
        text = f"{{{keys}{', …' if len(value) > SAMPLE_KEYS else ''}}}"
    else:
        text = json.dumps(value)
    return text if len(text) <= length else text[: length - 1] + "…"


def _of_value(value: JsonValue, spot: Spot, label: str, budget: _Budget, depth: int) -> Node:
    children: list[Node] = []
    cut = 0
    for name, inner, way in _parts(value, depth):
        if len(children) >= MOST_CHILDREN or not budget.take():
            cut += 1
        else:
            children.append(_of_value(inner, spot / way, name, budget, depth + 1))
    return Node(
        label=label,
        spot=spot,
        kind=type_of(value).removeprefix("a ").removeprefix("an "),
        sample=short(value),
        is_list=isinstance(value, list),
        children=tuple(children),
        cut=cut + (max(len(value) - MOST_ITEMS, 0) if isinstance(value, list) else 0),
    )


def _parts(value: JsonValue, depth: int) -> Iterator[tuple[str, JsonValue, str | int | None]]:
    """Yield the parts of a value by the label of each: keys, “of each item”, the first items."""
    if depth >= DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key), inner, str(key)
    elif isinstance(value, list):
        merged: dict[str, Any] = {}
        for item in value[:20]:
            if isinstance(item, Mapping):
                merged |= {str(key): inner for key, inner in item.items() if key not in merged}
        if merged:
            yield "of each item", merged, None
        for index, item in enumerate(value[:MOST_ITEMS]):
            yield f"item {index}", item, index


def _of_schema(schema: JsonSchema, spot: Spot, label: str, budget: _Budget, depth: int) -> Node:
    children: list[Node] = []
    cut = 0
    for name, inner, way in _schema_parts(schema, depth):
        if len(children) >= MOST_CHILDREN or not budget.take():
            cut += 1
        else:
            children.append(_of_schema(inner, spot / way, name, budget, depth + 1))
    kinds = all_types(schema)
    return Node(
        label=label,
        spot=spot,
        kind=type_words(sorted(kinds)).removeprefix("a ").removeprefix("an ") or "anything",
        sample=_words(schema),
        is_list=kinds == {"array"},
        children=tuple(children),
        cut=cut,
    )


def _schema_parts(
    schema: JsonSchema, depth: int
) -> Iterator[tuple[str, JsonSchema, str | int | None]]:
    if depth >= DEEPEST:
        return
    for form in forms(schema):
        properties = form.get("properties")
        if isinstance(properties, Mapping):
            for key, inner in properties.items():
                yield str(key), inner if isinstance(inner, Mapping) else {}, str(key)
            return
    if all_types(schema) == {"array"} and isinstance(item := items_of(schema), Mapping):
        if any("properties" in form for form in forms(item)):
            yield "of each item", item, None
        yield "item 0", item, 0


def _words(schema: JsonSchema) -> str:
    text = schema.get("description") or schema.get("title") or ""
    return " ".join(str(text)[: SAMPLE_LENGTH * 2].split())[:SAMPLE_LENGTH]
