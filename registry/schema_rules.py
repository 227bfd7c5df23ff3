"""Apply JSON Schemas that strangers wrote, within limits of time and memory.

Schemas can be hostile: references that double at each step, catastrophic patterns, a reference to
a server. So every keyword first looks at the clock, patterns run under a time limit, and nothing
is ever fetched.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any

import regex
from jsonschema import Draft202012Validator, FormatChecker, ValidationError, validators
from jsonschema.protocols import Validator
from jsonschema_specifications import REGISTRY as SPECIFICATIONS  # type: ignore[import-untyped]
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry import pattern_limits

LONGEST_MESSAGE = 500
MOST_NAMED = 10
MOST_TOGETHER = pattern_limits.MAX_COPIES
"""Parts that all patterns of one check may unfold to together."""
UNSUPPORTED = ("unevaluatedProperties", "unevaluatedItems")
"""The library looks for what was evaluated in quadratic time, without calling a keyword."""

Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError]]


class CheckTooSlowError(Exception):
    """The whole check takes too long."""


class PatternTooSlowError(Exception):
    """One pattern takes too long on one text."""


class Deadline:
    """The moment at which a check has to end."""

    def __init__(self, seconds: float) -> None:
        self.ends_at = time.monotonic() + seconds

    def remaining(self) -> float:
        """Return the seconds that are left; raise `CheckTooSlowError` when there are none."""
        seconds = self.ends_at - time.monotonic()
        if seconds <= 0:
            raise CheckTooSlowError
        return seconds


def draft_of(schema: JsonValue) -> type[Validator]:
    """Return the draft that the schema names, or 2020-12."""
    named = schema.get("$schema") if isinstance(schema, Mapping) else None
    if not isinstance(named, str) or "draft-03" in named:  # draft 3 has another "required"
        return Draft202012Validator
    return validators.validator_for({"$schema": named}, default=Draft202012Validator)


def lookup(root: JsonSchema, reference: str) -> JsonSchema:
    """Return what a local `$ref` points to; raise `Unresolvable` when that is not there."""
    resource: Resource[Any] = Resource.from_contents(root, default_specification=DRAFT202012)
    registry: Registry[Any] = Registry().with_resource("", resource)
    target = registry.resolver().lookup(reference).contents
    return target if isinstance(target, Mapping) else {}


class Rules:
    """The keywords of every draft, bound to one deadline.

    While errors are drawn from a validator it raises `CheckTooSlowError`, `PatternTooSlowError`
    when one search takes longer than `pattern_seconds`, and `PatternRefusedError`.
    """

    def __init__(self, deadline: Deadline, pattern_seconds: float) -> None:
        self.deadline = deadline
        self.pattern_seconds = pattern_seconds
        self._patterns: dict[str, regex.Pattern[str]] = {}
        self._copies = 0

    def validator(self, draft: type[Validator], schema: Any) -> Validator:
        """Return the draft's validator for `schema`, with limited keywords."""
        limited = _limited(draft)
        validator: Validator = limited(schema, registry=SPECIFICATIONS, format_checker=_Bound(self))
        return validator

    def pattern(self, source: str) -> regex.Pattern[str]:
        """Return the compiled pattern; raise `PatternRefusedError` when it cannot be used."""
        if source not in self._patterns:
            self._copies += pattern_limits.copies(source)
            if self._patterns and self._copies > MOST_TOGETHER:
                raise pattern_limits.PatternRefusedError(
                    "repeats too much together with the others", "Use smaller counts."
                )
            self._patterns[source] = pattern_limits.compiled(source)
        return self._patterns[source]

    def matches(self, source: str, text: str) -> bool:
        """Search a text for a pattern, within the time of one search."""
        seconds = min(self.deadline.remaining(), self.pattern_seconds)
        try:
            return self.pattern(source).search(text, timeout=seconds) is not None
        except (TimeoutError, MemoryError):
            self.deadline.remaining()
            raise PatternTooSlowError(source) from None


class _Bound(FormatChecker):
    """Checks no format. It carries the rules of one check to the keywords, which are shared."""

    def __init__(self, rules: Rules) -> None:
        super().__init__(formats=())
        self.rules = rules


@cache
def _limited(draft: type[Validator]) -> Any:
    """Return the draft's class with limited keywords; to make one takes longer than most checks."""
    own: dict[str, Keyword] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
        **dict.fromkeys(UNSUPPORTED, _refuse),
        **{name: _without_false(draft.VALIDATORS[name]) for name in ("anyOf", "oneOf")},
    }
    keywords = {name: _timed(check) for name, check in {**draft.VALIDATORS, **own}.items()}
    limited: Any = validators.extend(draft, keywords)  # type: ignore[no-untyped-call]
    limited.evolve = _evolve
    return limited


def _timed(check: Keyword) -> Keyword:
    def timed(validator: Any, rule: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        deadline = validator.format_checker.rules.deadline
        deadline.remaining()
        for error in check(validator, rule, instance, schema) or ():
            deadline.remaining()
            # The library repeats the whole value in it: thousands would fill the memory.
            error.message = error.message[:LONGEST_MESSAGE]
            yield error

    return timed


def _pattern(validator: Any, rule: str, instance: Any, _: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not validator.format_checker.rules.matches(rule, instance):
        yield ValidationError("does not have the expected form")


def _pattern_properties(
    validator: Any, rule: JsonObject, instance: Any, _: Any
) -> Iterator[ValidationError]:
    rules = validator.format_checker.rules
    for name, value in instance.items() if isinstance(instance, dict) else ():
        for pattern, subschema in rule.items():
            if rules.matches(pattern, name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, rule: Any, instance: Any, schema: JsonObject
) -> Iterator[ValidationError]:
    rules = validator.format_checker.rules
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name in instance if isinstance(instance, dict) else ():
        if name in known or any(rules.matches(pattern, name) for pattern in patterns):
            continue
        if rule is False:
            names = ", ".join(islice(known, MOST_NAMED)) or "none"
            yield ValidationError(f"is not known here (known: {names})", path=[name])
        else:
            yield from validator.descend(instance[name], rule, path=name)


def _evolve(validator: Any, **changes: Any) -> Any:
    """Return the validator for another schema, in place of the library's own way.

    At each `$schema` within a schema that one would go back to its own, unlimited keywords.
    """
    kept = {
        "registry": validator._registry,
        "_resolver": validator._resolver,
        "format_checker": validator.format_checker,
    }
    return type(validator)(**{"schema": validator.schema, **kept, **changes})


def _without_false(check: Keyword) -> Keyword:
    """Leave out the alternative `false`: it fits nothing, and no keyword is called for it."""

    def some(validator: Any, rule: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        yield from check(validator, [each for each in rule if each is not False], instance, schema)

    return some


def _refuse(_: Any, __: Any, ___: Any, ____: Any) -> Iterator[ValidationError]:
    raise TypeError(f"{' and '.join(UNSUPPORTED)} are not supported")


def _unique_items(_: Any, rule: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
    # The library compares every pair, which is quadratic.
    if rule and isinstance(instance, list):
        written = {json.dumps(_comparable(item), sort_keys=True) for item in instance}
        if len(written) < len(instance):
            yield ValidationError("has repeated items")


def _comparable(value: JsonValue) -> JsonValue:
    """Return `value` with 1.0 as 1: to JSON Schema they are equal, and true is neither."""
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    if isinstance(value, dict):
        return {key: _comparable(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value
