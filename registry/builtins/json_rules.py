"""Check a document against a JSON Schema that somebody else wrote, within a time limit.

Schemas can be hostile: references that double at each step, catastrophic patterns, a reference to
a server. So every keyword first looks at the clock, patterns run under a time limit, and nothing
is ever fetched.
"""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import regex
from jsonschema import Draft202012Validator, ValidationError, validators
from jsonschema_specifications import REGISTRY as SPECIFICATIONS  # type: ignore[import-untyped]
from referencing.exceptions import Unresolvable

from config.lib.types import JsonObject, JsonValue
from registry.builtins import matching
from registry.errors import ToolInputRejected
from registry.schema_messages import describe

SECONDS = 0.8
MOST_PROBLEMS = 50
LONGEST_MESSAGE = 500
MOST_REFERENCES = 100

Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError]]


def problems(schema: JsonObject | bool, document: JsonValue) -> list[JsonObject]:
    """Return the first problems of `document` as `{path, message}`; empty when it fits.

    Raises `ToolInputRejected` when the schema is not one, or when the check takes too long.
    """
    rules = _Rules(time.monotonic() + SECONDS)
    draft = validators.validator_for(schema, default=Draft202012Validator)
    plain = _without_dialects(schema)
    try:
        defects = rules.first(draft, draft.META_SCHEMA, plain)
        if not defects:
            _refuse_unsupported(plain)
            return rules.first(draft, plain, document)
    except Unresolvable as problem:
        raise ToolInputRejected(
            f"The schema refers to {str(problem.ref)[:200]!r}, which it does not contain.",
            "Put the definition into the schema itself, under $defs: nothing is fetched.",
        ) from None
    except RecursionError:
        raise ToolInputRejected(
            "The schema or the document is nested too deeply, or the schema refers to itself "
            "without end.",
            "Use fewer levels.",
        ) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # A reference may lead to something that is not a schema, which the library trips over.
        raise ToolInputRejected(
            "The schema cannot be used on this document.", "Check where its references lead."
        ) from None
    first = defects[0]
    raise ToolInputRejected(
        f"The schema is not a JSON Schema: {first['path']} {first['message']}.", "Correct it there."
    )


def _without_dialects(node: JsonValue) -> JsonValue:
    """Drop `$schema`: at each one the library would go back to its own, unlimited keywords."""
    if isinstance(node, list):
        return [_without_dialects(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_dialects(item)
        for key, item in node.items()
        if not (key == "$schema" and isinstance(item, str))
    }


def _refuse_unsupported(schema: JsonValue) -> None:
    written = json.dumps(schema)
    if written.count('"$ref"') > MOST_REFERENCES:
        raise ToolInputRejected(
            f"The schema has more than {MOST_REFERENCES} references.",
            "Check a part of the document against a part of the schema.",
        )
    for pattern in _patterns(schema):
        matching.compiled(pattern)
    if '"patternProperties"' in written and '"unevaluatedProperties"' in written:
        raise ToolInputRejected(
            "patternProperties together with unevaluatedProperties is not supported.",
            "Use additionalProperties instead.",
        )


def _patterns(node: JsonValue) -> Iterator[str]:
    """Yield the patterns of a schema, so that also one that is not reached is checked."""
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        if isinstance(node.get("patternProperties"), dict):
            yield from node["patternProperties"]
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for part in inner:
        yield from _patterns(part)


class _Rules:
    """The keywords of a draft, each bound to one deadline."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline

    def first(self, draft: Any, schema: Any, document: JsonValue) -> list[JsonObject]:
        """Return the first problems of `document` as `{path, message}`."""
        own: dict[str, Keyword] = {
            "pattern": self._pattern,
            "patternProperties": self._pattern_properties,
            "additionalProperties": self._additional_properties,
            "uniqueItems": self._unique_items,
        }
        keywords = {
            name: self._timed(own.get(name, check)) for name, check in draft.VALIDATORS.items()
        }
        validator: Any = validators.extend(draft, keywords)  # type: ignore[no-untyped-call]
        errors = validator(schema, registry=SPECIFICATIONS).iter_errors(document)
        limited = (error for _, error in zip(range(MOST_PROBLEMS), errors, strict=False))
        return [{"path": error.json_path, "message": _message(error)} for error in limited]

    def _timed(self, check: Keyword) -> Keyword:
        def timed(
            validator: Any, rule: Any, instance: Any, schema: Any
        ) -> Iterator[ValidationError]:
            self._remaining()
            yield from check(validator, rule, instance, schema) or ()

        return timed

    def _remaining(self) -> float:
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise ToolInputRejected(
                "The check takes too long and was stopped.",
                "Use a simpler schema, or a smaller document.",
            )
        return seconds

    def _matches(self, pattern: str, text: str) -> bool:
        try:
            found: regex.Match[str] | None = matching.compiled(pattern).search(
                text, timeout=min(self._remaining(), matching.SECONDS)
            )
        except (TimeoutError, MemoryError):
            raise matching.too_slow() from None
        return found is not None

    def _pattern(self, _: Any, rule: str, instance: Any, __: Any) -> Iterator[ValidationError]:
        if isinstance(instance, str) and not self._matches(rule, instance):
            yield ValidationError("does not have the expected form")

    def _pattern_properties(
        self, validator: Any, rule: JsonObject, instance: Any, _: Any
    ) -> Iterator[ValidationError]:
        for name, value in instance.items() if isinstance(instance, dict) else ():
            for pattern, subschema in rule.items():
                if self._matches(pattern, name):
                    yield from validator.descend(value, subschema, path=name, schema_path=pattern)

    def _additional_properties(
        self, validator: Any, rule: Any, instance: Any, schema: JsonObject
    ) -> Iterator[ValidationError]:
        known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        for name in instance if isinstance(instance, dict) else ():
            if name in known or any(self._matches(pattern, name) for pattern in patterns):
                continue
            if rule is False:
                yield ValidationError("is not a property that the schema knows", path=[name])
            else:
                yield from validator.descend(instance[name], rule, path=name)

    def _unique_items(self, _: Any, rule: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
        # The library compares every pair, which is quadratic.
        if rule and isinstance(instance, list):
            written = {json.dumps(_comparable(item), sort_keys=True) for item in instance}
            if len(written) < len(instance):
                yield ValidationError("has repeated items")


def _message(error: ValidationError) -> str:
    # The schema `false` allows nothing, by no keyword.
    return (describe(error) if error.validator else "is not allowed here")[:LONGEST_MESSAGE]


def _comparable(value: JsonValue) -> JsonValue:
    """Return `value` with 1.0 as 1: to JSON Schema they are equal, and true is neither."""
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    if isinstance(value, dict):
        return {key: _comparable(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value
