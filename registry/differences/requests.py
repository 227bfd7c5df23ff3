"""What changed in the request of an HTTP tool."""

from collections.abc import Iterator

from config.lib.types import JsonObject, JsonValue
from registry.differences.found import Difference, found, kind_of, said
from registry.differences.packages import value_differences

_TOLD = {
    "method": "The request's method",
    "url": "The address that it calls",
    "timeoutSeconds": "The time limit in seconds",
    "maxBytes": "The largest answer in bytes",
    "signInOptional": "Whether it may be called without signing in",
}
_PARTS = ("headers", "query", "cookies", "body")


def request_differences(before: JsonObject, after: JsonObject) -> Iterator[Difference]:
    """Yield what changed in each part of the request, its sign-in and what its answer gives."""
    for name, label in _TOLD.items():
        old, new = before.get(name), after.get(name)
        if (old or None) != (new or None):
            was = f"; it was {said(old)}" if old else ""
            kind = kind_of(old, new)
            told = f"{label} is {said(new)}{was}."
            yield found(f"$.{name}", told, kind=kind, before=old, after=new)
    for name in _PARTS:
        yield from value_differences(before.get(name) or None, after.get(name) or None, f"$.{name}")
    yield from _sign_in(before, after)
    yield from _answer(before.get("response") or {}, after.get("response") or {})


def _sign_in(before: JsonObject, after: JsonObject) -> Iterator[Difference]:
    then, now = _auths(before), _auths(after)
    for index in range(max(len(then), len(now))):
        old = then[index] if index < len(then) else None
        new = now[index] if index < len(now) else None
        if old == new:
            continue
        other = _variables(new) - _variables(old)
        told = "has changed" if old and new else "is new" if new else "is gone"
        needs = f" It reads {', '.join(sorted(other))}." if other else ""
        yield found(
            "$.auth" if index == 0 else f"$.moreAuth[{index - 1}]",
            f"The sign-in of the request {told}.{needs}",
            kind=kind_of(old, new),
            breaking=bool(other) and not after.get("signInOptional"),
            before=old,
            after=new,
        )


def _auths(definition: JsonObject) -> list[JsonObject]:
    return [auth for auth in (definition.get("auth"), *definition.get("moreAuth", ())) if auth]


def _variables(auth: JsonObject | None) -> set[str]:
    return {str(auth[key]) for key in ("env", "usernameEnv") if auth.get(key)} if auth else set()


def _answer(before: JsonObject, after: JsonObject) -> Iterator[Difference]:
    old, new = before.get("path") or "", after.get("path") or ""
    if old != new:
        told = f"The answer is the part {said(new)} of what comes back"
        told = told if new else "The answer is all that comes back"
        was = f"; it was the part {said(old)}" if old else ""
        yield found("$.response.path", f"{told}{was}.", breaking=True, before=old, after=new)
    then: JsonValue = before.get("successStatus") or []
    now: JsonValue = after.get("successStatus") or []
    if then != now:
        told = f"These statuses are a success: {said(now) if now else 'any 2xx'}."
        yield found("$.response.successStatus", told, before=then, after=now)
