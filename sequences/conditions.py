"""Tell whether a step is due: conditions in CEL, the Common Expression Language.

A condition sees `initial` and `steps`, in a loop `item` and `index` too. CEL has no loops but its
macros (`all`, `exists`, `filter`, `map`) and calls nothing; what two macros within one another may
cost is bounded here.
"""

import functools
import re
from collections.abc import Mapping
from typing import Any

import cel

from config.lib.errors import InvalidInput
from config.lib.types import JsonValue

MAX_LENGTH = 500
MACROS = re.compile(r"\.\s*(?:all|exists|exists_one|filter|map)\s*\(")
PLACE = re.compile(r"<input>:(\d+):(\d+): (?:Syntax error|reserved identifier)")
HOW = "Compare with == != < >, join with && and ||, negate with !, put texts in quotes."
MOST_MACROS = 2
MOST_ITEMS = 1_000
"""Items of the longest list that a condition with two macros may see."""


STEPS = re.compile(r"\bsteps\b(?:\s*\.\s*(\w+)\b(?!\s*\())?")
"""A use of `steps`, with the name of the step where it is of one alone."""


class ConditionFailed(InvalidInput):
    """The condition of a step could not be worked out."""

    code = "condition_failed"
    default_hint = "Correct the condition; has(steps.name.key) asks whether there is such a key."


class ConditionError(ValueError):
    """The condition is not valid CEL; `str()` says where."""


@functools.lru_cache(maxsize=512)
def compile_condition(condition: str) -> cel.Program:
    """Return the compiled condition; raise `ConditionError` with the reason in plain words."""
    if not condition.strip():
        raise ConditionError("The condition is empty.")
    if len(condition) > MAX_LENGTH:
        raise ConditionError(f"The condition is longer than {MAX_LENGTH} characters.")
    if len(MACROS.findall(condition)) > MOST_MACROS:
        raise ConditionError(f"A condition goes through lists at most {MOST_MACROS} times.")
    try:
        return cel.compile(condition)
    except ValueError as error:
        raise ConditionError(_unread(condition, str(error))) from None


def holds(condition: str, context: Mapping[str, Any]) -> bool:
    """Say whether the condition is true; raise `ConditionFailed` where that cannot be said."""
    try:
        program = compile_condition(condition)
    except ConditionError as error:
        raise ConditionFailed(str(error)) from None
    context = _read_by(condition, context)
    if len(MACROS.findall(condition)) > 1 and _longest(context) > MOST_ITEMS:
        raise ConditionFailed(
            f"The condition goes through lists twice, and one has more than {MOST_ITEMS:,} items.",
            "Take the list apart in a step before.",
        )
    try:
        value = program.execute(context)
    except KeyError as error:
        raise _absent(condition, str(error.args[0]) if error.args else "") from None
    except (ValueError, TypeError, ArithmeticError, RuntimeError) as error:
        raise ConditionFailed(f"The condition cannot be worked out: {str(error)[:200]}") from None
    if not isinstance(value, bool):
        raise ConditionFailed(f"The condition gives {str(value)[:50]!r}, not true or false.")
    return value


def _absent(condition: str, key: str) -> ConditionFailed:
    """Name what is not there as the condition reads it, and how to ask for it first."""
    read = re.search(rf"\b(?:initial|steps|item)(?:\.\w+)*?\.{re.escape(key)}\b", condition)
    if read is None:
        return ConditionFailed(f"The condition reads “{key}”, which is not there.")
    return ConditionFailed(
        f"The condition reads “{read[0]}”, which is not there.",
        f"Where it may be left out, ask for it first: has({read[0]}) && …",
    )


def _unread(condition: str, reason: str) -> str:
    """Say where a condition cannot be read, without the grammar that the library recites."""
    short = f"“{condition[:100]}” cannot be read"
    found = PLACE.search(reason)
    if found is None:
        return f"{short}. {HOW}"
    line, column = int(found[1]), int(found[2])
    lines = condition.splitlines()
    rest = lines[line - 1][column - 1 :] if line <= len(lines) else ""
    if not rest.strip():
        return f"{short}: something is missing at its end. {HOW}"
    return f"{short} from “{rest[:30]}” on. {HOW}"


def _read_by(condition: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the condition may read: CEL copies all that it is given, for each item anew."""
    read = {name: value for name, value in context.items() if name in condition}
    names = {use[1] for use in STEPS.finditer(condition)}
    if "steps" in read and None not in names:
        read["steps"] = {name: value for name, value in read["steps"].items() if name in names}
    return read


def _longest(value: JsonValue) -> int:
    if isinstance(value, Mapping):
        return max((_longest(inner) for inner in value.values()), default=0)
    if isinstance(value, list):
        return max(len(value), max((_longest(inner) for inner in value), default=0))
    return 0
