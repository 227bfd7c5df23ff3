"""The shape of a sequence: steps that call tools, and where each input comes from (format 1).

`parse` is the only way in. It reports everything that is wrong at once, each problem with its
place, so that the builder can show it beside the step it belongs to.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from config.lib.errors import InvalidInput
from config.lib.types import JsonObject, JsonValue

MAX_STEPS = 100
MAX_NESTING = 50
IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"


class _Part(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, strict=True, allow_inf_nan=False
    )


class InitialInput(_Part):
    """A value of the sequence's own input; without a key the whole input."""

    source: Literal["initialInput"]
    key: str | None = None


class StaticValue(_Part):
    """A fixed JSON value."""

    source: Literal["static"]
    value: Any


class PreviousStep(_Part):
    """A value of an earlier step's output: `path` is a JMESPath expression, empty for all of it."""

    source: Literal["previousStep"]
    step: str = Field(min_length=1)
    path: str = ""


class Template(_Part):
    """A text with `{{ JMESPath }}` expressions over `initial` and `steps`."""

    source: Literal["template"]
    value: str


class Expression(_Part):
    """Whatever a JMESPath expression over `initial`, `steps` and `item` gives, of any type."""

    source: Literal["expression"]
    value: str


class LoopItem(_Part):
    """The item that an iteration of the step's own loop is for, or a part of it."""

    source: Literal["item"]
    path: str = ""


_SOURCE_MODELS: dict[str, type[_Part]] = {
    "initialInput": InitialInput,
    "static": StaticValue,
    "previousStep": PreviousStep,
    "template": Template,
    "expression": Expression,
    "item": LoopItem,
}
InputSource = Annotated[
    InitialInput | StaticValue | PreviousStep | Template | Expression | LoopItem,
    Field(discriminator="source"),
]


class Retry(_Part):
    """How often a failing step is tried in all, and the pauses in seconds between the tries.

    Each pause is `backoff_factor` times as long as the one before, at most 60 s.
    """

    attempts: int = Field(ge=1, le=10)
    backoff_seconds: float = Field(default=0, ge=0, le=60)
    backoff_factor: float = Field(default=1, ge=1, le=10)


class ForEach(_Part):
    """Call the tool once for each item of a list, at most `parallel` calls at a time.

    The step's output is the list of their outputs, in the order of the items. Mappings of the step
    may use `item` and `index` (from 0).
    """

    items: InputSource
    parallel: int = Field(default=1, ge=1, le=8)
    max_items: int = Field(default=100, ge=1, le=1_000)


class Parallel(_Part):
    """The place of a step in a group of branches that run at the same time.

    Neighbouring steps of the same `group` are one block. Those of the same `branch` run one after
    the other; the step behind the block waits for all branches.
    """

    group: str = Field(pattern=IDENTIFIER)
    branch: str = Field(pattern=IDENTIFIER)


class Fallback(_Part):
    """The output of a step that failed in spite of all attempts; the run goes on with it."""

    value: Any


class Approval(_Part):
    """What a person is asked before the run goes on; `message` is a template.

    The step's output is `{approved, by, note, values}`, `values` as `input_schema` says. Whoever
    refuses ends the run, unless `on_rejected` is `continue`.
    """

    title: str = Field(default="", max_length=200)
    message: str = Field(default="", max_length=5_000)
    input_schema: dict[str, Any] | None = None
    on_rejected: Literal["fail", "continue"] = "fail"
    expires_after_seconds: int | None = Field(default=None, ge=60, le=90 * 86_400)


class Step(_Part):
    """One call of a tool, or a question to a person (`approval`)."""

    step_number: int
    key: str | None = Field(default=None, pattern=IDENTIFIER)
    """Stays with the step when it is moved or renamed; unique within the sequence."""
    title: str = Field(default="", max_length=120)
    tool_to_run_id: str | None = Field(default=None, min_length=1)
    tool_version: int | None = Field(default=None, ge=1, le=2**31 - 1)
    approval: Approval | None = None
    input_mapping: dict[str, InputSource] = Field(default_factory=dict)
    output_display_success: str = ""
    output_display_failure: str = ""
    continue_on_failure: bool = False
    store_output_as: str | None = Field(default=None, pattern=IDENTIFIER)
    retry: Retry | None = None
    timeout_seconds: int = Field(default=30, ge=1, le=300)
    when: str | None = Field(default=None, max_length=500)
    """A CEL expression over `initial` and `steps`; where it is false the step is skipped."""
    for_each: ForEach | None = None
    parallel: Parallel | None = None
    fallback: Fallback | None = None
    disabled: bool = False
    repeatable: bool = False
    """Its author says that the call may be made twice, whatever is known of the tool."""

    @property
    def tool(self) -> str:
        """Return the id of the tool that it calls; empty for a question to a person."""
        return self.tool_to_run_id or ""


class Definition(_Part):
    """A sequence; without `final_output_mapping` its result is the log of its execution."""

    format: Literal[1]
    steps: Annotated[tuple[Step, ...], Field(strict=False)]
    max_concurrent_runs: int | None = Field(default=None, ge=1, le=1_000)
    """Runs that are at work at the same time; more of them wait."""
    final_output_mapping: dict[str, InputSource] | None = Field(default=None, min_length=1)


@dataclass(frozen=True)
class Problem:
    """One thing to mend: its JSON path, the number of its step and its field, if it has them."""

    path: str
    step: int | None
    field: str | None
    message: str


class DefinitionInvalid(InvalidInput):
    """The sequence is not valid."""

    code = "invalid_definition"
    default_hint = "Correct the named fields and save again."

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        places = [
            f"step {problem.step}: {problem.message}" if problem.step else problem.message
            for problem in problems[:10]
        ]
        super().__init__(
            "The sequence is not valid: " + " ".join(places),
            problems=[asdict(problem) for problem in problems],
        )


def parse(data: JsonValue) -> Definition:
    """Return the definition that `data` describes; raise `DefinitionInvalid` with every problem."""
    if unstorable := list(_unstorable(data, ())):
        raise DefinitionInvalid(unstorable)
    problems = list(_order_problems(data))
    try:
        definition = Definition.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=True)
        raise DefinitionInvalid([*map(_from_pydantic, details), *problems]) from None
    if problems:
        raise DefinitionInvalid(problems)
    return definition


LATER = ("key", "title", "approval", "parallel", "fallback", "disabled", "repeatable")
"""Fields of a step that are left out where they say nothing, so that what was saved before there
were such fields keeps its digest."""


def to_json(definition: Definition) -> JsonObject:
    """Return the definition as JSON, with its fields spelled out; `parse` takes it back."""
    data: JsonObject = definition.model_dump(mode="json", by_alias=True)
    for step in data["steps"]:
        for name in LATER:
            if not step[name]:
                del step[name]
        if step["retry"] and step["retry"]["backoffFactor"] == 1:
            del step["retry"]["backoffFactor"]
    if data["maxConcurrentRuns"] is None:
        del data["maxConcurrentRuns"]
    return data


def problem_at(location: tuple[str | int, ...], message: str) -> Problem:
    """Return a problem at a place in the definition, such as `("steps", 0, "retry")`."""
    path = "$" + "".join(
        f"[{part}]"
        if isinstance(part, int)
        else (f".{part}" if re.match(IDENTIFIER, part) else f"['{part}']")
        for part in location
    )
    match location:
        case ("steps", int(index), *rest):
            return Problem(path, index + 1, ".".join(map(str, rest)) or None, message)
        case _:
            return Problem(path, None, ".".join(map(str, location)) or None, message)


def _unstorable(value: JsonValue, place: tuple[str | int, ...]) -> Iterator[Problem]:
    """Find what JSON in the database cannot hold; without this, saving would fail later."""
    if len(place) > MAX_NESTING:
        yield problem_at(place[:3], f"This is nested more than {MAX_NESTING} levels deep.")
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str) or _has_broken_characters(key):
                yield problem_at(place, "A name here holds characters that cannot be stored.")
            else:
                yield from _unstorable(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _unstorable(inner, (*place, index))
    elif isinstance(value, str) and _has_broken_characters(value):
        yield problem_at(place, "This text holds characters that cannot be stored; remove them.")
    elif isinstance(value, float) and not math.isfinite(value):
        yield problem_at(place, "This is not a number that JSON can hold.")


def _has_broken_characters(text: str) -> bool:
    return "\0" in text or any("\ud800" <= character <= "\udfff" for character in text)


def _order_problems(data: JsonValue) -> Iterator[Problem]:
    """Check what holds between steps, on raw data, so that it is told with all the rest."""
    steps = data.get("steps") if isinstance(data, dict) else None
    if not isinstance(steps, list):
        return
    if not 1 <= len(steps) <= MAX_STEPS:
        yield problem_at(("steps",), f"A sequence has at least 1 and at most {MAX_STEPS} steps.")
    names: dict[str, int] = {}
    for index, step in enumerate(steps):
        if not isinstance(step, dict):
            continue
        position = index + 1
        number, name = step.get("stepNumber"), step.get("storeOutputAs")
        if type(number) is int and number != position:
            message = f"This is step {position} in the list, but its number is {number}."
            yield problem_at(("steps", index, "stepNumber"), message)
        if isinstance(name, str) and names.setdefault(name, position) != position:
            message = (
                f"Step {names[name]} already stores its output as “{name}”. Choose another name."
            )
            yield problem_at(("steps", index, "storeOutputAs"), message)


def _from_pydantic(error: ErrorDetails) -> Problem:
    location = _without_tag(error["loc"])
    return problem_at(location, _message(error, location))


def _without_tag(location: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Drop the source name that pydantic puts into the place of an error inside a mapping."""
    match location:
        case ("steps", int(), "inputMapping", _, _, *_):
            return (*location[:4], *location[5:])
        case ("finalOutputMapping", _, _, *_):
            return (*location[:2], *location[3:])
        case _:
            return location


_SOURCES = "initialInput, static, previousStep, template, expression or item"
_PATTERN = (
    "This must be a name of letters, digits and underscores that does not start with a digit, "
    "at most 64 characters long."
)
_MESSAGES = {
    "missing": "“{name}” is missing.",
    "extra_forbidden": "“{name}” is not known here. Known: {known}.",
    "int_type": "This must be a whole number.",
    "float_type": "This must be a number.",
    "bool_type": "This must be true or false.",
    "string_type": "This must be text.",
    "dict_type": "This must be an object.",
    "tuple_type": "This must be a list.",
    "model_type": "This must be an object.",
    "model_attributes_type": "This must be an object.",
    "union_tag_not_found": f"Say where the value comes from: source is {_SOURCES}.",
    "union_tag_invalid": f"This source is not known. Use {_SOURCES}.",
    "too_short": "Map at least one value, or leave the final output out.",
    "greater_than_equal": "This must be at least {ge}.",
    "less_than_equal": "This must be at most {le}.",
    "string_too_short": "This must not be empty.",
    "string_pattern_mismatch": _PATTERN,
    "none_required": "“{name}” is not supported in this version; leave it empty.",
    "literal_error": "This must be {expected}.",
}


def _message(error: ErrorDetails, location: tuple[str | int, ...]) -> str:
    message = _MESSAGES.get(error["type"], "This does not fit here.")
    known = ", ".join(_fields_at(error["loc"]))
    facts = {"name": location[-1] if location else "", "known": known, **error.get("ctx", {})}
    return message.format_map(facts)


def _fields_at(location: tuple[str | int, ...]) -> list[str]:
    """Return the keys that are known where pydantic met an unknown one."""
    match location:
        case ("steps", int(), "retry", _):
            model: type[_Part] = Retry
        case ("steps", int(), "inputMapping", _, tag, _) | ("finalOutputMapping", _, tag, _):
            model = _SOURCE_MODELS[str(tag)]
        case ("steps", int(), _):
            model = Step
        case _:
            model = Definition
    return [field.alias or name for name, field in model.model_fields.items()]
