"""Make the input of a sequence out of a message."""

from collections.abc import Mapping

from config.lib.errors import InvalidInput
from config.lib.types import JsonObject, JsonSchema
from registry.errors import InvalidArguments
from registry.models import Tool
from registry.schemas import validate_arguments
from sequences.mapping import ExpressionError, MissingValueError, compile_expression, evaluate
from sequences.triggers.errors import DeliveryInvalid

SAFE_HEADERS = frozenset(
    {
        *("content-type", "user-agent", "webhook-id", "webhook-timestamp", "x-github-delivery"),
        *("x-github-event", "x-github-hook-id", "x-github-hook-installation-target-id"),
        *("x-github-hook-installation-target-type", "x-request-id"),
    }
)
"""What a mapping may read of the headers: nothing that lets somebody in anywhere."""

MOST_MAPPED = 50
LONGEST_NAME = 200

Mapped = dict[str, str]
"""Name of an input → the JMESPath expression over `{body, headers}` that it is made by."""


def checked_mapping(mapping: object, schema: JsonSchema) -> Mapped | None:
    """Return the mapping of a webhook; None for none. Raise InvalidInput with the problems."""
    if mapping is None or mapping == {}:
        return None
    if not isinstance(mapping, dict) or not all(isinstance(to, str) for to in mapping.values()):
        raise _refused([_problem("", "must be an object: an expression for each input")])
    if len(mapping) > MOST_MAPPED:
        raise _refused([_problem("", f"has more than {MOST_MAPPED} inputs")])
    problems = []
    for name, expression in mapping.items():
        if not 1 <= len(name) <= LONGEST_NAME:
            problems.append(_problem("", "has an input without a name, or with a very long one"))
        try:
            compile_expression(expression)
        except ExpressionError as error:
            problems.append(_problem(name, str(error)))
    known = schema.get("properties") or {}
    if schema.get("additionalProperties") is False:
        problems += [
            _problem(name, "is not an input of this sequence")
            for name in mapping
            if name not in known
        ]
    problems += [
        _problem(name, "is an input that the sequence needs: map it")
        for name in schema.get("required") or ()
        if name not in mapping
    ]
    if problems:
        raise _refused(problems)
    return dict(mapping)


def input_of(
    tool: Tool, mapping: Mapped | None, body: JsonObject, headers: Mapping[str, str]
) -> JsonObject:
    """Return the input that a message gives; raise DeliveryInvalid.

    An input whose expression finds nothing is left out where the sequence does without it.
    """
    given = body
    if mapping is not None:
        safe = {name: value for name, value in headers.items() if name in SAFE_HEADERS}
        given = _evaluated(mapping, {"body": body, "headers": safe}, tool.input_schema)
    try:
        validate_arguments(tool.input_schema, given)
    except InvalidArguments as error:
        raise DeliveryInvalid(
            error.message.replace("The arguments do", "The input does"),
            problems=error.extra.get("problems") or [],
        ) from None
    return given


def _evaluated(mapping: Mapped, message: JsonObject, schema: JsonSchema) -> JsonObject:
    given: JsonObject = {}
    problems = []
    for name, expression in mapping.items():
        try:
            given[name] = evaluate(expression, message)
        except (MissingValueError, ExpressionError) as error:
            if name in (schema.get("required") or ()):
                problems.append({"path": f"$.{name}", "message": str(error)})
    if problems:
        names = ", ".join(problem["path"][2:] for problem in problems[:5])
        raise DeliveryInvalid(f"The message has nothing for {names}.", problems=problems)
    return given


def _problem(name: str, message: str) -> JsonObject:
    return {"path": f"$.input_mapping{f'.{name}' if name else ''}", "message": message}


def _refused(problems: list[JsonObject]) -> InvalidInput:
    told = "; ".join(f"{item['path'][2:]}: {item['message']}" for item in problems[:5])
    return InvalidInput(
        f"The mapping cannot be saved: {told}", "Correct the named fields.", problems=problems
    )
