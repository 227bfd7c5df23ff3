"""Check what holds between the steps of a definition, and what JSON cannot hold.

It looks at raw data, so that it is told together with everything that is wrong with the shape.
"""

import math
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from config.lib.types import JsonObject, JsonValue
from sequences.problems import Place, Problem, problem_at

MAX_STEPS = 100
MAX_BRANCHES = 8
MAX_NESTING = 50

Numbered = list[tuple[int, JsonObject]]
"""The steps that are objects, with their indexes."""


def unstorable(value: JsonValue, place: Place = ()) -> Iterator[Problem]:
    """Find what JSON in the database cannot hold; without this, saving would fail later."""
    if len(place) > MAX_NESTING:
        yield problem_at(place[:3], f"This is nested more than {MAX_NESTING} levels deep.")
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str) or _has_broken_characters(key):
                yield problem_at(place, "A name here holds characters that cannot be stored.")
            else:
                yield from unstorable(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from unstorable(inner, (*place, index))
    elif isinstance(value, str) and _has_broken_characters(value):
        yield problem_at(place, "This text holds characters that cannot be stored; remove them.")
    elif isinstance(value, float) and not math.isfinite(value):
        yield problem_at(place, "This is not a number that JSON can hold.")


def order_problems(data: JsonValue) -> Iterator[Problem]:
    """Find numbers out of order, names taken twice, steps of no kind and scattered branches."""
    steps = data.get("steps") if isinstance(data, dict) else None
    if not isinstance(steps, list):
        return
    if not 1 <= len(steps) <= MAX_STEPS:
        yield problem_at(("steps",), f"A sequence has at least 1 and at most {MAX_STEPS} steps.")
    numbered = [(index, step) for index, step in enumerate(steps) if isinstance(step, dict)]
    for index, step in numbered:
        number = step.get("stepNumber")
        if type(number) is int and number != index + 1:
            message = f"This is step {index + 1} in the list, but its number is {number}."
            yield problem_at(("steps", index, "stepNumber"), message)
        yield from _kind_problems(index, step)
    yield from _taken_twice(
        numbered,
        "storeOutputAs",
        "Step {first} already stores its output as “{name}”. Choose another name.",
    )
    yield from _taken_twice(
        numbered, "key", "Step {first} already has the key “{name}”. Each step has its own."
    )
    yield from _branch_problems(numbered)


def _has_broken_characters(text: str) -> bool:
    return "\0" in text or any("\ud800" <= character <= "\udfff" for character in text)


def _taken_twice(steps: Numbered, field: str, message: str) -> Iterator[Problem]:
    names: dict[str, int] = {}
    for index, step in steps:
        name = step.get(field)
        if isinstance(name, str) and names.setdefault(name, index) != index:
            told = message.format(first=names[name] + 1, name=name)
            yield problem_at(("steps", index, field), told)


_OF_CALLS = {
    "toolVersion": "a version is",
    "inputMapping": "inputs are",
    "forEach": "a loop is",
    "retry": "further attempts are",
    "repeatable": "a call to make twice is",
}


def _kind_problems(index: int, step: JsonObject) -> Iterator[Problem]:
    """Check that a step calls a tool or asks a person, and has nothing that is of the other."""
    asks, calls = step.get("approval") is not None, step.get("toolToRunId") is not None
    if not asks and not calls:
        message = "Choose a tool for this step, or let it ask a person (approval)."
        yield problem_at(("steps", index, "toolToRunId"), message)
    elif asks and calls:
        message = "A step calls a tool or asks a person, not both. Take one of them out."
        yield problem_at(("steps", index, "approval"), message)
    elif asks:
        for field, what in _OF_CALLS.items():
            if step.get(field):
                message = f"This step asks a person; {what} for a step that calls a tool."
                yield problem_at(("steps", index, field), message)


def _branch_problems(steps: Numbered) -> Iterator[Problem]:
    """Check that the steps of one group stand together, in not too many branches."""
    ended: dict[str, int] = {}
    for group, block in groupby(steps, key=lambda item: _part(item[1], "group")):
        members = list(block)
        if group is None:
            continue
        first, last = members[0][0], members[-1][0]
        if group in ended:
            yield problem_at(
                ("steps", first, "parallel", "group"),
                f"The branches “{group}” ended at step {ended[group]}. Move this step there, or "
                "give its group another name.",
            )
        ended[group] = last + 1
        branches = {_part(step, "branch") for _, step in members}
        if len(branches) > MAX_BRANCHES:
            yield problem_at(
                ("steps", first, "parallel", "group"),
                f"“{group}” has {len(branches)} branches; at most {MAX_BRANCHES} run at the same "
                "time. Put steps into fewer branches.",
            )


def _part(step: JsonObject, name: str) -> str | None:
    place: Any = step.get("parallel")
    value = place.get(name) if isinstance(place, dict) else None
    return value if isinstance(value, str) else None
