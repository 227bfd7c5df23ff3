"""Check tool schemas, and arguments against them.

A `$ref` is followed inside its own document only, so nothing is ever fetched. Patterns run under
a time limit, so that neither a schema nor an argument can keep a worker busy.
"""

import copy
import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

import regex
from jsonschema import Draft202012Validator, ValidationError, validators
from jsonschema.protocols import Validator
from jsonschema_specifications import REGISTRY as SPECIFICATIONS  # type: ignore[import-untyped]
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.errors import InvalidArguments, ToolUnavailable
from registry.schema_messages import describe, type_of

MAX_TOLD = 10
MAX_PATTERN_LENGTH = 1_000
PATTERN_SECONDS = 0.05


class SchemaProblem(NamedTuple):
    """One thing that is wrong, with its JSON path (`$.items[0].name`)."""

    path: str
    message: str


class PatternTooSlowError(Exception):
    """A pattern of the schema takes too long on this text."""


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
    try:
        canonical_json(schema)
        problems = list(_metaschema_problems(schema))
        if not problems:
            problems = list(_unsafe_parts(schema, schema, "$"))
        if not problems:
            list(_validator(schema).iter_errors({}))
    except (RecursionError, TypeError, ValueError):
        return [SchemaProblem("$", "The input schema is nested too deeply, or is not plain JSON.")]
    except PatternTooSlowError:
        return [SchemaProblem("$", "A pattern in the input schema takes too long to check.")]
    if schema.get("type") != "object":
        problems.append(SchemaProblem("$.type", "The input schema needs “type”: “object”."))
    return problems


def validate_arguments(schema: JsonSchema, arguments: JsonValue) -> JsonObject:
    """Return a copy of the arguments with the schema's defaults filled in.

    Nothing is converted: `"5"` is no number. Raises `InvalidArguments`, whose message lists the
    problems as `field: what is wrong` and whose `extra["problems"]` has each with its path, and
    `ToolUnavailable` when the schema itself cannot be used.
    """
    if not isinstance(arguments, dict):
        raise InvalidArguments(f"The arguments must be an object, not {type_of(arguments)}.")
    try:
        filled: JsonObject = _with_defaults(schema, schema, copy.deepcopy(arguments), follow=True)
        problems = _problems(_validator(schema).iter_errors(filled))
    except Unresolvable as error:
        raise ToolUnavailable(
            f"The tool's input schema refers to “{error.ref}”, which it does not contain.",
            "The tool's author must put the definition into the schema itself.",
        ) from None
    except PatternTooSlowError:
        raise InvalidArguments("A text takes too long to check against its pattern.") from None
    except RecursionError:
        raise InvalidArguments("The arguments are nested too deeply.") from None
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
    try:
        whole = _validator(schema)
        return _problems(whole.evolve(schema=properties[name]).iter_errors(value))
    except (Unresolvable, PatternTooSlowError, RecursionError):
        return [SchemaProblem("$", "cannot be checked against the tool's schema")]


def _problems(errors: Iterator[ValidationError]) -> list[SchemaProblem]:
    found: dict[SchemaProblem, None] = {}
    for error in errors:
        wanted: Any = error.validator_value
        given: Any = error.instance
        if error.validator == "required":
            names = [name for name in wanted if name not in given]
            found |= dict.fromkeys(
                SchemaProblem(f"{error.json_path}.{name}", "is required") for name in names
            )
        else:
            found[SchemaProblem(error.json_path, describe(error))] = None
    return list(found)


def _field(path: str) -> str:
    return path.removeprefix("$").removeprefix(".") or "arguments"


def _validator(schema: JsonSchema) -> Validator:
    return _compiled(json.dumps(schema, allow_nan=False))


@lru_cache(maxsize=512)
def _compiled(text: str) -> Validator:
    schema = json.loads(text)
    return _bounded(_draft(schema))(schema, registry=SPECIFICATIONS)


def _draft(schema: JsonSchema) -> type[Validator]:
    named = schema.get("$schema")
    if not isinstance(named, str) or "draft-03" in named:  # draft 3 has another "required"
        return Draft202012Validator
    return validators.validator_for({"$schema": named}, default=Draft202012Validator)


@cache
def _bounded(draft: type[Validator]) -> type[Validator]:
    """Return the draft's validator with every keyword that runs a pattern under a time limit."""
    bounded: type[Validator] = validators.extend(  # type: ignore[no-untyped-call]
        draft,
        {
            "pattern": _pattern,
            "patternProperties": _pattern_properties,
            "additionalProperties": _additional_properties,
        },
    )
    return bounded


def _matches(pattern: str, text: str) -> bool:
    try:
        return regex.search(pattern, text, timeout=PATTERN_SECONDS) is not None
    except TimeoutError:
        raise PatternTooSlowError(pattern) from None


def _pattern(
    _: Validator, pattern: str, instance: JsonValue, __: JsonSchema
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError("does not have the expected form")


def _pattern_properties(
    validator: Any, patterns: JsonSchema, instance: JsonValue, _: JsonSchema
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in patterns.items():
        for name, value in instance.items():
            if _matches(pattern, name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, allowed: JsonValue, instance: JsonValue, schema: JsonSchema
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    patterns = schema.get("patternProperties", {})
    known = schema.get("properties", {})
    for name in instance:
        if name in known or any(_matches(pattern, name) for pattern in patterns):
            continue
        if allowed is False:
            names = ", ".join(list(known)[:MAX_TOLD]) or "none"
            yield ValidationError(f"is not known here (known: {names})", path=[name])
        else:
            yield from validator.descend(instance[name], allowed, path=name)


def _metaschema_problems(schema: JsonSchema) -> Iterator[SchemaProblem]:
    metaschema = _draft(schema).META_SCHEMA
    checker = Draft202012Validator if "$schema" not in metaschema else _draft(metaschema)
    yield from _problems(checker(metaschema, registry=SPECIFICATIONS).iter_errors(schema))


def _unsafe_parts(root: JsonSchema, node: JsonValue, path: str) -> Iterator[SchemaProblem]:
    """Find references that lead outside or nowhere, and patterns that cannot be run safely."""
    if isinstance(node, list):
        for index, inner in enumerate(node):
            yield from _unsafe_parts(root, inner, f"{path}[{index}]")
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
        if isinstance(text, str) and (reason := _pattern_defect(text)):
            yield SchemaProblem(path, f"The pattern “{text[:100]}” {reason}.")
    if named and "unevaluatedProperties" in node:
        yield SchemaProblem(
            path, "patternProperties together with unevaluatedProperties is not supported."
        )
    for key, inner in node.items():
        if key not in {"default", "const", "enum", "examples"}:
            yield from _unsafe_parts(root, inner, f"{path}.{key}")


def _pattern_defect(pattern: str) -> str:
    if len(pattern) > MAX_PATTERN_LENGTH:
        return f"is longer than {MAX_PATTERN_LENGTH} characters"
    try:
        regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError):
        return "is not a valid regular expression"
    return ""


def _resolves(root: JsonSchema, reference: str) -> bool:
    try:
        return reference.startswith("#") and lookup(root, reference) is not None
    except Unresolvable:
        return False


def lookup(root: JsonSchema, reference: str) -> JsonSchema:
    """Return what a local `$ref` points to; raise `Unresolvable` when that is not there."""
    resource: Resource[Any] = Resource.from_contents(root, default_specification=DRAFT202012)
    registry: Registry[Any] = Registry().with_resource("", resource)
    target = registry.resolver().lookup(reference).contents
    return target if isinstance(target, Mapping) else {}


def _with_defaults(
    root: JsonSchema, schema: JsonValue, value: JsonValue, *, follow: bool
) -> JsonValue:
    """Fill defaults into `value`, in place where it is an object.

    Inside a value that is itself a default no reference is followed (`follow` is false), because a
    schema that refers to itself would fill in for ever.
    """
    if not isinstance(schema, Mapping):
        return value
    if follow and isinstance(schema.get("$ref"), str):
        value = _with_defaults(root, lookup(root, schema["$ref"]), value, follow=follow)
    for part in schema.get("allOf", ()):
        value = _with_defaults(root, part, value, follow=follow)
    if isinstance(value, dict):
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                value[name] = _with_defaults(root, inner, value[name], follow=follow)
            elif isinstance(inner, Mapping) and "default" in inner:
                default = copy.deepcopy(inner["default"])
                value[name] = _with_defaults(root, inner, default, follow=False)
    elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        items = schema["items"]
        return [_with_defaults(root, items, item, follow=follow) for item in value]
    return value
