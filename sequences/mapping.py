"""Work out the inputs of a step and the final output from what is known so far.

The context is `{"initial": {...}, "steps": {name: output}}`, in a loop with `item` and `index`.
Paths, templates and expressions are JMESPath. A template always gives text, even when it is a
single expression, so that what a tool receives does not change its type with the data;
`previousStep` and `expression` hand a value over as it is.
"""

import copy
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.parser import ParsedResult

from config.lib.errors import InvalidInput
from config.lib.types import JsonObject, JsonValue
from registry.api_templates import SLIPS
from registry.builtins.json_bounds import BoundedInterpreter, weighed
from registry.errors import ToolInputRejected
from sequences.definition import (
    Definition,
    Expression,
    InitialInput,
    InputSource,
    LoopItem,
    PreviousStep,
    StaticValue,
)

MAX_EXPRESSION_LENGTH = 1_000
EXPRESSION = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
"""One expression in a template. It ends at the first `}}`: put a blank between two braces."""

MAX_NAMES = 20
"""Names that an error lists before it only counts the rest."""

Context = Mapping[str, Any]


class MappingFailed(InvalidInput):
    """An input of the step could not be worked out."""

    code = "mapping_failed"

    def __init__(self, field: str, message: str, hint: str) -> None:
        self.field = field
        super().__init__(message, hint, field=field)


class ExpressionError(ValueError):
    """The expression is not valid JMESPath."""


class MissingValueError(LookupError):
    """The expression points to something that is not there; `str()` says what is."""


def resolve_inputs(mapping: Mapping[str, InputSource], context: Context) -> JsonObject:
    """Return the arguments of a step; raise `MappingFailed` for the first that has no value."""
    return {field: _resolve(field, source, context) for field, source in mapping.items()}


def final_output(definition: Definition, context: Context) -> JsonObject | None:
    """Return the mapped output of a run; None when the definition maps none.

    Raises `MappingFailed` as `resolve_inputs` does.
    """
    if definition.final_output_mapping is None:
        return None
    return resolve_inputs(definition.final_output_mapping, context)


def compile_expression(expression: str) -> ParsedResult:
    """Return the parsed expression; raise `ExpressionError` with the reason in plain words."""
    if not expression.strip():
        raise ExpressionError("The expression is empty.")
    if len(expression) > MAX_EXPRESSION_LENGTH:
        raise ExpressionError(f"The expression is longer than {MAX_EXPRESSION_LENGTH} characters.")
    try:
        return jmespath.compile(expression.strip())
    except RecursionError:
        raise ExpressionError("The expression is nested too deeply.") from None
    except JMESPathError as error:
        where = getattr(error, "lex_position", None)
        place = f" near character {where + 1}" if isinstance(where, int) else ""
        raise ExpressionError(
            f"“{expression.strip()[:100]}” cannot be read{place}. "
            "Write a path such as one.two[0].three."
        ) from None


def evaluate(expression: str, data: JsonValue) -> JsonValue:
    """Return the value of the expression over `data`.

    A plain path (`a.b[0]`) to something that is absent raises `MissingValueError`; a null that is
    there is a value. Any other expression raises it when JMESPath cannot work it out or gives
    null, which is its answer to a path that leads nowhere; `|| 'text'` sets a default.
    """
    compiled = compile_expression(expression)
    path = _plain_path(compiled.parsed)
    if path is not None:
        return _walk(path, data)
    try:
        value = weighed(BoundedInterpreter().visit(compiled.parsed, data))
    except RecursionError:
        raise MissingValueError("The data is nested too deeply.") from None
    except ToolInputRejected:
        raise MissingValueError(
            f"“{expression.strip()[:100]}” takes too long on this data, or gives too much."
        ) from None
    except SLIPS as error:
        reason = " ".join(str(error).split())[:200]
        raise MissingValueError(f"“{expression.strip()}” does not fit the data: {reason}") from None
    if value is None:
        raise MissingValueError(f"“{expression.strip()}” gives nothing here.")
    return value


def template_expressions(template: str) -> Iterator[str]:
    """Yield the expressions of a template; raise `ExpressionError` for an unclosed one."""
    if "{{" in EXPRESSION.sub("", template):
        raise ExpressionError("An expression is opened with {{ but not closed with }}.")
    for match in EXPRESSION.finditer(template):
        yield match[1]


def as_text(value: JsonValue) -> str:
    """Return a value as it is inserted into a text: text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _resolve(field: str, source: InputSource, context: Context) -> JsonValue:
    match source:
        case StaticValue():
            return copy.deepcopy(source.value)
        case InitialInput():
            return copy.deepcopy(_initial(field, source.key, context["initial"]))
        case PreviousStep():
            return copy.deepcopy(_previous(field, source, context["steps"]))
        case Expression():
            return copy.deepcopy(_evaluated(field, source.value, context))
        case LoopItem():
            return copy.deepcopy(_item(field, source.path, context))
        case _:
            return _render(field, source.value, context)


def _initial(field: str, key: str | None, initial: Mapping[str, Any]) -> JsonValue:
    if not key:
        return initial
    if key not in initial:
        raise MappingFailed(
            field,
            f"Input “{field}” needs “{key}” from the sequence's input. {_has(initial)}",
            f"Give “{key}” when you run the sequence, or set a default for it.",
        )
    return initial[key]


def _previous(field: str, source: PreviousStep, steps: Mapping[str, Any]) -> JsonValue:
    if source.step not in steps:
        raise MappingFailed(
            field,
            f"Input “{field}” needs the output of step “{source.step}”, which left none. "
            f"Steps with an output: {_names(steps)}.",
            "A step that failed or was not run leaves no output. Mend that step, or map another.",
        )
    output = steps[source.step]
    if not source.path.strip():
        return output
    try:
        return evaluate(source.path, output)
    except (MissingValueError, ExpressionError) as error:
        raise MappingFailed(
            field,
            f"Input “{field}” needs “{source.path}” from the output of step “{source.step}”. "
            f"{error}",
            "Look at that step's output and correct the path.",
        ) from None


def _evaluated(field: str, expression: str, context: Context) -> JsonValue:
    try:
        return evaluate(expression, context)
    except (MissingValueError, ExpressionError) as error:
        raise MappingFailed(
            field,
            f"The expression of input “{field}” gives no value. {error}",
            "Use initial.<name> for the sequence's input and steps.<name> for a step's output.",
        ) from None


def _item(field: str, path: str, context: Context) -> JsonValue:
    if "item" not in context:
        raise MappingFailed(
            field,
            f"Input “{field}” needs the item of a loop, and this step has none.",
            "Repeat the step for each item of a list, or map another value.",
        )
    if not path.strip():
        return context["item"]
    try:
        return evaluate(path, context["item"])
    except (MissingValueError, ExpressionError) as error:
        raise MappingFailed(
            field,
            f"Input “{field}” needs “{path}” from the item {context['index']}. {error}",
            "Look at the list that the step is repeated for, and correct the path.",
        ) from None


def _render(field: str, template: str, context: Context) -> str:
    try:
        list(template_expressions(template))
        return EXPRESSION.sub(lambda match: as_text(evaluate(match[1], context)), template)
    except (MissingValueError, ExpressionError) as error:
        raise MappingFailed(
            field,
            f"The template of input “{field}” could not be filled. {error}",
            "Use initial.<name> for the sequence's input and steps.<name> for a step's output.",
        ) from None


def _plain_path(node: Any) -> list[str | int] | None:
    """Return the keys and indexes of a path without functions or projections, else None."""
    match node:
        case {"type": "identity"}:  # what stands before the bracket of a leading [0]
            return []
        case {"type": "field", "value": str(key)}:
            return [key]
        case {"type": "index", "value": int(index)}:
            return [index]
        case {"type": "subexpression" | "index_expression", "children": [*children]}:
            parts = [_plain_path(child) for child in children]
            return None if None in parts else [key for part in parts for key in part or ()]
        case _:
            return None


def _walk(path: list[str | int], data: JsonValue) -> JsonValue:
    value = data
    for part in path:
        try:
            value = value[_checked(part, value)]
        except LookupError:
            what = f"no item {part}" if isinstance(part, int) else f"no “{part}”"
            raise MissingValueError(f"There is {what}. {_has(value)}") from None
    return value


def _checked(part: str | int, value: JsonValue) -> str | int:
    """Return `part`; raise `LookupError` when a value of this type has no such kind of part."""
    if isinstance(value, Mapping if isinstance(part, str) else list):
        return part
    raise LookupError(part)


def _has(value: JsonValue) -> str:
    if isinstance(value, Mapping):
        return f"What is there: {_names(value)}."
    if isinstance(value, list):
        return f"What is there: a list of {len(value)} items."
    return f"What is there: {_kind(value)}."


def _names(mapping: Mapping[str, Any]) -> str:
    names = [str(name) for name in mapping]
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more if names else "nothing"


def _kind(value: JsonValue) -> str:
    match value:
        case None:
            return "nothing (null)"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case _:
            return "a number"
