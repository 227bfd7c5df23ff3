"""Draft a sequence from calls that were made: the same calls, their inputs mapped.

A value that an earlier call gave comes from that step; one that a person had said becomes a named
input of the sequence; a text that holds such values becomes a template; everything else stays as it
was. What was masked because it is a secret becomes an input too, and is in no draft.
"""

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from config.lib.jsontext import schema_type
from config.lib.masking import MASK
from config.lib.types import JsonObject, JsonSchema, JsonValue
from sequences.definition import IDENTIFIER, MAX_STEPS
from sequences.mapping import (
    MAX_EXPRESSION_LENGTH,
    ExpressionError,
    MissingValueError,
    as_text,
    evaluate,
)
from sequences.ordering import MAX_NESTING

SHORTEST_PART, SHORTEST_NUMBER = 4, 3
"""Characters of a value that is looked for inside other texts; shorter ones are there by chance."""

MOST_LEAVES = 5_000
"""Values of one output that are looked at."""

PLAIN = 10
"""Whole numbers below it are everywhere; one comes from a step only where no other gave it."""


@dataclass(frozen=True, kw_only=True)
class MadeCall:
    """A call that succeeded: of which tool, with what, and what it gave.

    `output_kept` is false where only the start of a large output was kept: nothing comes from it.
    """

    tool_id: str
    name: str
    input_schema: JsonSchema
    arguments: JsonObject
    output: JsonValue = None
    output_kept: bool = True


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A sequence that was drafted; `given` are the inputs that make it do the same again, without
    those that were secret (`secret`, their names)."""

    definition: JsonObject
    input_schema: JsonSchema
    given: JsonObject
    secret: tuple[str, ...]


@dataclass(frozen=True)
class _Leaf:
    """A value in the output of a step, and the JMESPath that leads to it."""

    step: str
    path: str
    value: JsonValue
    spelt: str


@dataclass
class _Inputs:
    """The inputs of the sequence as they are found."""

    said: str
    given: JsonObject = field(default_factory=dict)
    schemas: dict[str, JsonObject] = field(default_factory=dict)
    secret: list[str] = field(default_factory=list)
    _names: dict[str, str] = field(default_factory=dict)

    def holds(self, value: JsonValue) -> bool:
        """Tell whether the person said this value, as words of their own."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return False
        text = as_text(value).strip()
        return bool(text) and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", self.said) is not None

    def named(self, argument: str, value: JsonValue, schema: Any) -> str:
        """Return the input of this value; the same value is one input."""
        spelt = json.dumps(value, sort_keys=True)
        if spelt not in self._names:
            self._names[spelt] = name = self._added(argument, value, schema)
            self.given[name] = value
            self.schemas[name]["examples"] = [value]
        return self._names[spelt]

    def hidden(self, argument: str, value: JsonValue, schema: Any) -> str:
        """Return a new input for a value that holds a secret."""
        name = self._added(argument, value, schema)
        self.secret.append(name)
        return name

    def _added(self, argument: str, value: JsonValue, schema: Any) -> str:
        name = free_name(argument, self.schemas)
        said = schema.get("description") if isinstance(schema, Mapping) else None
        described = {"description": said} if isinstance(said, str) and said else {}
        self.schemas[name] = {"type": schema_type(value), **described}
        return name

    def schema(self) -> JsonSchema:
        """Return the input schema of the sequence."""
        return {
            "type": "object",
            "properties": self.schemas,
            "required": list(self.schemas),
            "additionalProperties": False,
        }


def draft(calls: Sequence[MadeCall], *, said: str) -> Draft:
    """Return the sequence that makes these calls again, in this order.

    `said` is what the person said. There is at least one call and at most `MAX_STEPS`.
    """
    if not 1 <= len(calls) <= MAX_STEPS:
        raise ValueError("a sequence has at least one step, and not too many")
    inputs, leaves, steps = _Inputs(said), list[_Leaf](), list[JsonObject]()
    names: dict[str, JsonValue] = {}
    for number, call in enumerate(calls, start=1):
        name = free_name(call.name, names)
        names[name] = None
        properties = call.input_schema.get("properties", {})
        mapping = {
            argument: _source(argument, value, properties.get(argument), leaves, inputs)
            for argument, value in call.arguments.items()
        }
        steps.append(
            {
                "stepNumber": number,
                "toolToRunId": call.tool_id,
                "inputMapping": mapping,
                "storeOutputAs": name,
            }
        )
        if call.output_kept:
            leaves += list(_leaves(name, call.output))
    final = {"result": {"source": "previousStep", "step": list(names)[-1], "path": ""}}
    definition = {"format": 1, "steps": steps, "finalOutputMapping": final}
    return Draft(
        definition=definition,
        input_schema=inputs.schema(),
        given=inputs.given,
        secret=tuple(inputs.secret),
    )


def free_name(wanted: str, taken: Mapping[str, object]) -> str:
    """Return an identifier like `wanted` that is not taken yet."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", wanted).strip("_")[:56] or "value"
    plain = plain if re.match(IDENTIFIER, plain) else f"_{plain}"
    number = 1
    name = plain
    while name in taken:
        number += 1
        name = f"{plain}_{number}"
    return name


def _source(
    argument: str, value: JsonValue, schema: Any, leaves: Sequence[_Leaf], inputs: _Inputs
) -> JsonObject:
    if MASK in json.dumps(value, ensure_ascii=False):
        return {"source": "initialInput", "key": inputs.hidden(argument, value, schema)}
    found = _found(value, leaves)
    plain = isinstance(value, int) and abs(value) < PLAIN
    if found is not None and not (plain and inputs.holds(value)):
        return {"source": "previousStep", "step": found.step, "path": found.path}
    if inputs.holds(value):
        return {"source": "initialInput", "key": inputs.named(argument, value, schema)}
    if isinstance(value, str) and (template := _template(value, leaves, inputs)):
        return {"source": "template", "value": template}
    if isinstance(value, dict | list) and (built := _built(value, leaves)):
        return built
    return {"source": "static", "value": value}


def _found(value: JsonValue, leaves: Sequence[_Leaf]) -> _Leaf | None:
    """Return where an earlier step gave this very value, the latest first."""
    if not _telling(value):
        return None
    spelt = _spelt(value)
    found = [leaf for leaf in leaves if leaf.spelt == spelt]
    if not found or (isinstance(value, int) and abs(value) < PLAIN and len(found) > 1):
        return None
    last = found[-1].step
    return next(leaf for leaf in found if leaf.step == last)


def _telling(value: JsonValue) -> bool:
    """Tell whether a value says where it is from: `true` and an empty text are everywhere."""
    match value:
        case None | bool():
            return False
        case str():
            return len(value.strip()) > 1
        case list():
            return any(_telling(item) for item in value)
        case dict():
            return any(_telling(item) for item in value.values())
    return True


def _spelt(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True)


def _template(text: str, leaves: Sequence[_Leaf], inputs: _Inputs) -> str:
    """Return a template that gives this text, or nothing where no known value stands in it."""
    if "{{" in text or "}}" in text:
        return ""
    parts: dict[str, tuple[str, JsonValue]] = {}
    for name, value in inputs.given.items():
        parts[as_text(value)] = f"initial.{name}", value
    for leaf in leaves:
        if isinstance(leaf.value, str | int | float) and not isinstance(leaf.value, bool):
            path = leaf.path if not leaf.path or leaf.path.startswith("[") else f".{leaf.path}"
            parts[as_text(leaf.value)] = f"steps.{leaf.step}{path}", leaf.value
    whole = [part for part, (_, value) in parts.items() if part in text and _is_long(value)]
    if not whole:
        return ""
    longest = sorted(whole, key=len, reverse=True)
    either = re.compile("|".join(rf"(?<!\w){re.escape(part)}(?!\w)" for part in longest))
    found = [match[0] for match in either.finditer(text)]
    expressions = [parts[part][0] for part in found]
    if not found or any("}" in each or len(each) > MAX_EXPRESSION_LENGTH for each in expressions):
        return ""
    return either.sub(lambda match: f"{{{{ {parts[match[0]][0]} }}}}", text)


def _is_long(value: JsonValue) -> bool:
    least = SHORTEST_PART if isinstance(value, str) else SHORTEST_NUMBER
    return len(as_text(value).strip()) >= least


def _built(value: JsonValue, leaves: Sequence[_Leaf]) -> JsonObject | None:
    """Return an object or list that is put together from what one earlier step gave."""
    for step in reversed(dict.fromkeys(leaf.step for leaf in leaves)):
        own = [leaf for leaf in leaves if leaf.step == step]
        whole = next(leaf.value for leaf in own if not leaf.path)
        expression, used = _expression(value, own)
        if not used or len(expression) > MAX_EXPRESSION_LENGTH:
            continue
        try:
            if _spelt(evaluate(expression, whole)) == _spelt(value):
                return {"source": "previousStep", "step": step, "path": expression}
        except (MissingValueError, ExpressionError):
            continue
    return None


def _expression(value: JsonValue, leaves: Sequence[_Leaf]) -> tuple[str, bool]:
    """Return a JMESPath expression that gives the value, and whether it takes anything."""
    if found := _found(value, leaves):
        return found.path or "@", True
    if isinstance(value, dict) and value:
        members = {key: _expression(item, leaves) for key, item in value.items()}
        text = ", ".join(f"{json.dumps(key)}: {item}" for key, (item, _) in members.items())
        return f"{{{text}}}", any(used for _, used in members.values())
    if isinstance(value, list) and value:
        items = [_expression(item, leaves) for item in value]
        return f"[{', '.join(item for item, _ in items)}]", any(used for _, used in items)
    literal = json.dumps(value).replace("`", "\\`")
    return f"`{literal}`", False


def _leaves(step: str, output: JsonValue) -> Iterator[_Leaf]:
    """Yield the values of an output, the whole first, that a plain path leads to."""
    waiting: deque[tuple[str, JsonValue, int]] = deque([("", output, 0)])
    seen = 0
    while waiting and seen < MOST_LEAVES:
        path, value, depth = waiting.popleft()
        seen += 1
        yield _Leaf(step, path, value, _spelt(value))
        if depth >= MAX_NESTING:
            continue
        if isinstance(value, dict):
            for key, item in value.items():
                longer = f"{path}.{_key(key)}" if path else _key(key)
                if len(longer) < MAX_EXPRESSION_LENGTH:
                    waiting.append((longer, item, depth + 1))
        elif isinstance(value, list):
            waiting.extend((f"{path}[{i}]", item, depth + 1) for i, item in enumerate(value))


def _key(key: str) -> str:
    return key if re.match(r"^[A-Za-z_][A-Za-z0-9_]*\Z", key) else json.dumps(key)
