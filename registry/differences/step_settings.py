"""What changed of how one step runs, in words."""

from collections.abc import Callable, Iterator

from config.lib.types import JsonObject, JsonValue
from registry.differences.found import Difference, found, kind_of, said

Words = Callable[[JsonValue], str]


def setting_differences(before: JsonObject, after: JsonObject, index: int) -> Iterator[Difference]:
    """Yield what is set otherwise in a step; a field that says nothing counts as left out."""
    path, step = f"$.steps[{index}]", f"Step {index + 1}"
    for name, (words, without) in _SETTINGS.items():
        old, new = before.get(name), after.get(name)
        if old in _NOTHING and new in _NOTHING:
            continue
        if old != new:
            told = without if new in _NOTHING else words(new)
            kind = kind_of(_or_none(old), _or_none(new))
            yield found(f"{path}.{name}", f"{step} {told}.", kind=kind, before=old, after=new)
    yield from _question(before.get("approval"), after.get("approval"), index)
    for name, told in _TEXTS.items():
        old, new = before.get(name) or None, after.get(name) or None
        if old != new:
            kind = kind_of(old, new)
            yield found(
                f"{path}.{name}", f"{step} {told}.", text=True, kind=kind, before=old, after=new
            )


def source_in_words(source: JsonObject) -> str:
    """Return where a mapped value comes from, in plain words."""
    path = source.get("path")
    part = f"“{path}” of " if path else ""
    match source.get("source"):
        case "initialInput":
            key = source.get("key")
            return f"“{key}” of the sequence's input" if key else "the sequence's whole input"
        case "static":
            return said(source.get("value"))
        case "previousStep":
            return f"{part}the output of “{source.get('step')}”"
        case "item":
            return f"{part}the item of its loop"
        case "expression":
            return f"the expression {said(source.get('value'))}"
        case _:
            return f"the template {said(source.get('value'))}"


_NOTHING: tuple[JsonValue, ...] = (None, False, "")


def _or_none(value: JsonValue) -> JsonValue:
    return None if value in _NOTHING else value


def _with(words: str) -> Words:
    return lambda value: f"{words} {said(value)}"


def _always(words: str) -> Words:
    return lambda _: words


def _retry(retry: JsonValue) -> str:
    pause, factor = retry.get("backoffSeconds") or 0, retry.get("backoffFactor") or 1
    grows = f", each pause {factor:g} times the one before" if factor != 1 else ""
    return f"tries {retry['attempts']} times, {pause:g} s apart{grows}"


def _loop(loop: JsonValue) -> str:
    together = loop.get("parallel") or 1
    bounds = f"{together} at a time" if together > 1 else "one after the other"
    most = loop.get("maxItems") or 100
    return (
        f"is repeated for each item of {source_in_words(loop['items'])}, {bounds}, at most {most}"
    )


def _branch(place: JsonValue) -> str:
    return f"stands in branch “{place['branch']}” of “{place['group']}”"


_SETTINGS: dict[str, tuple[Words, str]] = {
    "toolVersion": (_with("uses version"), "uses version that is live"),
    "storeOutputAs": (_with("keeps its output as"), "keeps its output as nothing"),
    "when": (_with("runs only if"), "runs in any case"),
    "forEach": (_loop, "is not repeated any more"),
    "parallel": (_branch, "stands in no branch any more"),
    "disabled": (_always("is switched off"), "is switched on"),
    "continueOnFailure": (
        _with("goes on after a failure:"),
        "goes on after a failure: false",
    ),
    "fallback": (
        lambda fallback: f"gives {said(fallback.get('value'))} where it fails",
        "gives nothing where it fails",
    ),
    "retry": (_retry, "tries again: no"),
    "repeatable": (
        _always("may be called twice, says its author"),
        "is not said to be callable twice any more",
    ),
    "timeoutSeconds": (
        _with("may take this many seconds:"),
        "may take this many seconds: the default",
    ),
}
_TEXTS = {
    "title": "has another title",
    "outputDisplaySuccess": "tells its success in other words",
    "outputDisplayFailure": "tells its failure in other words",
}
_QUESTION = {
    "title": "asks under another title",
    "message": "asks in other words",
    "inputSchema": "asks for other values",
    "onRejected": "goes another way when it is refused",
    "expiresAfterSeconds": "waits for another time",
}


def _question(before: JsonValue, after: JsonValue, index: int) -> Iterator[Difference]:
    """Yield what is asked otherwise; that a step asks at all is told with its tool."""
    if not before or not after:
        return
    for name, told in _QUESTION.items():
        old, new = before.get(name), after.get(name)
        if old != new:
            yield found(
                f"$.steps[{index}].approval.{name}",
                f"Step {index + 1} {told}.",
                text=name in ("title", "message"),
                kind=kind_of(old, new),
                before=old,
                after=new,
            )
