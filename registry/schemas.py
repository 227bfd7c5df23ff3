"""Check tool schemas, and arguments against them.

A `$ref` is followed inside its own document only, so nothing is ever fetched. Everything runs
under a time limit, so that neither a schema nor an argument can keep a worker busy.
"""

import copy
import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from jsonschema import ValidationError
from referencing.exceptions import Unresolvable

from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.errors import InvalidArguments, ToolUnavailable
from registry.pattern_limits import PatternRefusedError
from registry.schema_defaults import Defaults
from registry.schema_messages import describe, type_of
from registry.schema_rules import (
    UNSUPPORTED,
    CheckTooSlowError,
    Deadline,
    PatternTooSlowError,
    Rules,
    draft_of,
    lookup,
)

MAX_TOLD = 10
MAX_PROBLEMS = 100
MAX_PATTERN_LENGTH = 1_000
PATTERN_SECONDS = 0.05
SECONDS = 2.0
"""How long one check may take; thousands of list items are checked in a fraction of it."""

UNUSABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What the library raises for a reference to what is no schema, and for numbers too large."""


class SchemaProblem(NamedTuple):
    """One thing that is wrong, with its JSON path (`$.items[0].name`)."""

    path: str
    message: str


def canonical_json(value: JsonValue) -> str:
    """Return the one JSON text that all equal values share: sorted keys, no blanks.

    Raises `ValueError` for what JSON cannot hold (NaN, infinity).
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_digest(value: JsonValue) -> str:
    """Return the SHA-256 of the canonical JSON, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def check_schema(schema: JsonValue) -> list[SchemaProblem]:
    """Return what keeps `schema` from being the input schema of a tool; empty when it is one."""
    if not isinstance(schema, Mapping):
        return [SchemaProblem("$", "The input schema must be a JSON object.")]
    rules = _rules()
    draft = draft_of(schema)
    try:
        canonical_json(schema)
        problems = _problems(rules.validator(draft, draft.META_SCHEMA).iter_errors(schema))
        if not problems:
            problems = list(islice(_unsafe_parts(rules, schema, schema, "$"), MAX_PROBLEMS))
        if not problems:
            _problems(rules.validator(draft, schema).iter_errors({}))
    except CheckTooSlowError:
        return [SchemaProblem("$", "The input schema is too complex: checking it takes too long.")]
    except PatternTooSlowError:
        return [SchemaProblem("$", "A pattern in the input schema takes too long to check.")]
    except (Unresolvable, RecursionError, *UNUSABLE):
        return [SchemaProblem("$", "The input schema is nested too deeply, or is not plain JSON.")]
    if schema.get("type") != "object":
        problems.append(SchemaProblem("$.type", "The input schema needs “type”: “object”."))
    return problems


def validate_arguments(schema: JsonSchema, arguments: JsonValue) -> JsonObject:
    """Return a copy of the arguments with the schema's defaults filled in.

    Nothing is converted: `"5"` is no number. Raises `InvalidArguments`, whose message lists the
    problems as `field: what is wrong` and whose `extra["problems"]` has each with its path, and
    `ToolUnavailable` when the schema itself cannot be used, or not in time.
    """
    if not isinstance(arguments, dict):
        raise InvalidArguments(f"The arguments must be an object, not {type_of(arguments)}.")
    rules = _rules()
    try:
        filled: JsonObject = Defaults(schema, rules.deadline).filled(
            schema, copy.deepcopy(arguments)
        )
        problems = _problems(rules.validator(draft_of(schema), schema).iter_errors(filled))
    except Unresolvable as error:
        raise ToolUnavailable(
            f"The tool's input schema refers to “{error.ref}”, which it does not contain.",
            "The tool's author must put the definition into the schema itself.",
        ) from None
    except PatternTooSlowError:
        raise InvalidArguments("A text takes too long to check against its pattern.") from None
    except RecursionError:
        raise InvalidArguments("The arguments are nested too deeply.") from None
    except CheckTooSlowError:
        raise ToolUnavailable(
            "The tool's schema is too complex: checking the arguments took too long.",
            "The tool's author must simplify it: fewer references, alternatives and defaults.",
        ) from None
    except PatternRefusedError as error:
        raise ToolUnavailable(
            f"A pattern in the tool's schema {error.reason}.",
            f"The tool's author must correct it. {error.hint}",
        ) from None
    except UNUSABLE:
        raise ToolUnavailable(
            "The tool's schema cannot be used on these arguments.",
            "The tool's author must check where its references lead and which keywords it uses.",
        ) from None
    if not problems:
        return filled
    told = [f"{_field(problem.path)}: {problem.message}" for problem in problems[:MAX_TOLD]]
    if len(problems) > MAX_TOLD:
        told.append(f"and {len(problems) - MAX_TOLD} more")
    raise InvalidArguments(
        "The arguments do not fit: " + "; ".join(told) + ".",
        problems=[problem._asdict() for problem in problems],
    )


def property_problems(schema: JsonSchema, name: str, value: JsonValue) -> list[SchemaProblem]:
    """Return what is wrong with a value for one property; empty if the schema does not name it."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or name not in properties:
        return []
    return _problems_of(schema, properties[name], value)


def value_problems(schema: JsonSchema, value: JsonValue) -> list[SchemaProblem]:
    """Return what is wrong with a value, such as an output that somebody wrote by hand."""
    return _problems_of(schema, schema, value)


def _problems_of(whole: JsonSchema, part: JsonValue, value: JsonValue) -> list[SchemaProblem]:
    try:
        validator = _rules().validator(draft_of(whole), whole)
        return _problems(validator.evolve(schema=part).iter_errors(value))
    except (Unresolvable, PatternTooSlowError, CheckTooSlowError, RecursionError, *UNUSABLE):
        return [SchemaProblem("$", "cannot be checked against the tool's schema")]


def _rules() -> Rules:
    return Rules(Deadline(SECONDS), PATTERN_SECONDS)


def _problems(errors: Iterator[ValidationError]) -> list[SchemaProblem]:
    found: dict[SchemaProblem, None] = {}
    for error in islice(errors, MAX_PROBLEMS):
        wanted: Any = error.validator_value
        given: Any = error.instance
        if error.validator == "required":
            names = islice((name for name in wanted if name not in given), MAX_PROBLEMS)
            found |= dict.fromkeys(
                SchemaProblem(f"{error.json_path}.{name}", "is required") for name in names
            )
        else:
            found[SchemaProblem(error.json_path, describe(error))] = None
    return list(found)


def _field(path: str) -> str:
    return path.removeprefix("$").removeprefix(".") or "arguments"


def _unsafe_parts(
    rules: Rules, root: JsonSchema, node: JsonValue, path: str
) -> Iterator[SchemaProblem]:
    """Find references that lead outside or nowhere, and what cannot be checked safely."""
    rules.deadline.remaining()
    if isinstance(node, list):
        for index, inner in enumerate(node):
            yield from _unsafe_parts(rules, root, inner, f"{path}[{index}]")
    if not isinstance(node, Mapping):
        return
    reference, pattern = node.get("$ref"), node.get("pattern")
    if isinstance(reference, str) and not _resolves(root, reference):
        yield SchemaProblem(
            f"{path}.$ref",
            f"“{reference[:200]}” is not found in this schema. Only references that start with # "
            "and point into the schema itself are followed.",
        )
    named = node.get("patternProperties")
    patterns = [*(named if isinstance(named, Mapping) else ()), pattern]
    for text in patterns:
        if isinstance(text, str) and (reason := _pattern_defect(rules, text)):
            yield SchemaProblem(path, f"The pattern “{text[:100]}” {reason}.")
    for keyword in UNSUPPORTED:  # a property may have such a name
        if isinstance(node.get(keyword), bool | Mapping) and not path.endswith(".properties"):
            yield SchemaProblem(
                path, f"{keyword} is not supported: use additionalProperties or items instead."
            )
    for key, inner in node.items():
        if key not in {"default", "const", "enum", "examples"}:
            yield from _unsafe_parts(rules, root, inner, f"{path}.{key}")


def _pattern_defect(rules: Rules, pattern: str) -> str:
    if len(pattern) > MAX_PATTERN_LENGTH:
        return f"is longer than {MAX_PATTERN_LENGTH} characters"
    try:
        rules.pattern(pattern)
    except PatternRefusedError as error:
        return error.reason
    return ""


def _resolves(root: JsonSchema, reference: str) -> bool:
    try:
        return reference.startswith("#") and lookup(root, reference) is not None
    except Unresolvable:
        return False
