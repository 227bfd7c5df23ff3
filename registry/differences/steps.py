"""What changed between two sequences, step by step."""

from collections.abc import Callable, Iterator, Mapping
from difflib import SequenceMatcher
from itertools import chain

from config.lib.types import JsonObject, JsonValue
from registry.differences.found import Difference, Kind, found, kind_of
from registry.differences.step_settings import setting_differences, source_in_words

Pairs = list[tuple[int, int]]


def sequence_differences(
    before: JsonObject, after: JsonObject, names: Mapping[str, str]
) -> Iterator[Difference]:
    """Yield the steps that came, went or moved, what changed in each, and the final output."""
    old, new = before.get("steps") or [], after.get("steps") or []
    pairs = _paired(old, new)
    gone = set(range(len(old))) - {index for index, _ in pairs}
    came = set(range(len(new))) - {index for _, index in pairs}
    moved = _moved(pairs)
    for index in sorted(gone):
        told = f"Step {index + 1} ({_tool(old[index], names)}) is taken out."
        yield found(f"$.steps[{index}]", told, kind=Kind.REMOVED, before=old[index])
    for index, step in enumerate(new):
        if index in came:
            told = f"Step {index + 1} ({_tool(step, names)}) is new."
            yield found(f"$.steps[{index}]", told, kind=Kind.ADDED, after=step)
            continue
        was = next(then for then, now in pairs if now == index)
        if index in moved:
            told = f"Step {index + 1} ({_tool(step, names)}) was step {was + 1}."
            yield found(f"$.steps[{index}]", told, before=was + 1, after=index + 1)
        yield from _step(old[was], step, index, names)
    yield from _final(before, after)
    runs, then = after.get("maxConcurrentRuns"), before.get("maxConcurrentRuns")
    if runs != then and before:
        most = f"At most {runs} run{'s' * (runs > 1)}" if runs else "Any number of runs"
        told, kind = f"{most} may be at work at the same time.", kind_of(then, runs)
        yield found("$.maxConcurrentRuns", told, kind=kind, before=then, after=runs)


def _paired(old: list[JsonObject], new: list[JsonObject]) -> Pairs:
    """Pair the steps that are meant to be the same: of one key, else equal, of one name or tool.

    A step whose key is nowhere on the other side came or went, whatever it is like.
    """
    pairs: Pairs = []
    left, right = list(range(len(old))), list(range(len(new)))
    keyed = all(map(_key, [*old, *new]))
    for key in (_key,) if keyed else (_key, _whole, _name_and_tool, _tool_id, _name):
        for index in list(left):
            wanted = key(old[index])
            partner = next((other for other in right if key(new[other]) == wanted), None)
            if wanted is not None and partner is not None:
                pairs.append((index, partner))
                left.remove(index)
                right.remove(partner)
    return sorted(pairs)


def _key(step: JsonObject) -> JsonValue:
    return step.get("key")


def _whole(step: JsonObject) -> JsonValue:
    return {name: value for name, value in step.items() if name != "stepNumber"}


def _name_and_tool(step: JsonObject) -> JsonValue:
    return (_name(step), _tool_id(step)) if _name(step) else None


def _tool_id(step: JsonObject) -> JsonValue:
    return step.get("toolToRunId")


def _name(step: JsonObject) -> JsonValue:
    return step.get("storeOutputAs")


def _moved(pairs: Pairs) -> set[int]:
    """Return the new places of steps that do not stand in the order in which they stood."""
    then = [index for index, _ in pairs]
    now = [then for then, _ in sorted(pairs, key=lambda pair: pair[1])]
    blocks = SequenceMatcher(None, then, now, autojunk=False).get_matching_blocks()
    stay = set(chain.from_iterable(then[b.a : b.a + b.size] for b in blocks))
    return {new for old, new in pairs if old not in stay}


def _step(
    before: JsonObject, after: JsonObject, index: int, names: Mapping[str, str]
) -> Iterator[Difference]:
    path, step = f"$.steps[{index}]", f"Step {index + 1}"
    if _tool_id(before) != _tool_id(after):
        told = f"{step} {_does(after, names)}; it {_does(before, names, ed='ed')}."
        yield found(f"{path}.toolToRunId", told, before=_tool_id(before), after=_tool_id(after))
    yield from _mapping(
        before.get("inputMapping") or {},
        after.get("inputMapping") or {},
        f"{path}.inputMapping",
        lambda name: f"{step}: the input “{name}”",
    )
    yield from setting_differences(before, after, index)


def _does(step: JsonObject, names: Mapping[str, str], ed: str = "s") -> str:
    if step.get("approval"):
        return f"ask{ed} a person"
    return f"call{ed} {_tool(step, names)}"


def _tool(step: JsonObject, names: Mapping[str, str]) -> str:
    if step.get("approval"):
        return "a question to a person"
    identity = str(_tool_id(step))
    return names.get(identity, identity)


def _mapping(
    before: JsonObject,
    after: JsonObject,
    path: str,
    label: Callable[[str], str],
    *,
    is_answer: bool = False,
) -> Iterator[Difference]:
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if new is None:
            told = f"{label(name)} is not given any more."
        else:
            was = f"; it was {source_in_words(old)}" if old else ""
            told = f"{label(name)} is {source_in_words(new)}{was}."
        yield found(
            f"{path}.{name}",
            told,
            kind=kind_of(old, new),
            breaking=is_answer and new is None,
            before=old,
            after=new,
        )


def _final(before: JsonObject, after: JsonObject) -> Iterator[Difference]:
    old, new = before.get("finalOutputMapping"), after.get("finalOutputMapping")
    if old == new or not before:
        return
    if old and new:
        path = "$.finalOutputMapping"
        yield from _mapping(old, new, path, lambda name: f"The output “{name}”", is_answer=True)
        return
    told = "only what is mapped" if new else "the log of all its steps"
    yield found(
        "$.finalOutputMapping",
        f"The sequence's output is {told} now.",
        kind=kind_of(old, new),
        breaking=True,
        before=old,
        after=new,
    )
