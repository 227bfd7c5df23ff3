"""Read JSON text that anybody may have written, and know at which line each value stands."""

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from config.lib.errors import InvalidInput
from config.lib.jsontext import clean_text
from config.lib.types import JsonValue
from registry.manifest.findings import inside

MOST_BYTES = 256 << 10
DEEPEST = 64
"""Levels of nesting; more would exhaust the stack of whoever walks it."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)
"""A text that is not closed reaches to the end, so that it is looked at once only."""

_LONGEST_PATH = 400
"""Characters of a path whose line is kept; no manifest has longer ones."""


class NotJson(InvalidInput):
    """The text is no JSON; `extra.line` and `extra.column` say where."""

    code = "not_json"
    default_hint = "Paste a whole package.json, or what stands under “tpmjs” in it."


@dataclass
class JsonFile:
    """A value, the line of each of its parts by JSON path, and the keys that stand twice."""

    value: JsonValue
    lines: dict[str, int] = field(default_factory=dict)
    doubled: list[str] = field(default_factory=list)

    def line_of(self, path: str) -> int:
        """Return the line of a path, or of the nearest thing round it that is there."""
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return 1


def read_json(text: str) -> JsonFile:
    """Read a text; raises NotJson with line and column, or with what is too much of it."""
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise NotJson(f"It is larger than {MOST_BYTES >> 10} KB.", "Paste only the “tpmjs” field.")
    if not text.strip():
        raise NotJson("Nothing was given.")
    if _depth(text) > DEEPEST:
        raise NotJson(f"It is nested deeper than {DEEPEST} levels.", "No manifest needs as many.")
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_number)
    except json.JSONDecodeError as error:
        raise NotJson(
            f"It is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.",
            line=error.lineno,
            column=error.colno,
        ) from None
    except ValueError as error:
        raise NotJson(f"It is not JSON: {_said(error)}") from None
    lines, doubled = _places(text)
    return JsonFile(value=value, lines=lines, doubled=doubled)


def is_too_deep(value: Any) -> bool:
    """Tell whether a value is nested deeper than `DEEPEST` levels."""
    level = [value]
    for _ in range(DEEPEST + 1):
        if not level:
            return False
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return True


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]} is too large.")
    return number


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON.")


def _said(error: ValueError) -> str:
    told = str(error)
    return told if told.endswith(".") else "a number has too many digits."


def _depth(text: str) -> int:
    """Return how deep the brackets of a text go, whether it is JSON or not."""
    depth = deepest = 0
    for found in _TOKEN.finditer(text):
        sign = found[0]
        if sign in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in "}]":
            depth -= 1
    return deepest


def _places(text: str) -> tuple[dict[str, int], list[str]]:
    """Return the line of every path, and the paths that stand twice, of a text that is JSON."""
    lines: dict[str, int] = {}
    doubled: list[str] = []
    stack: list[tuple[str, int | None]] = []  # the path of what is open, and a list's next index
    path, line, end, is_key = "", 1, 0, False
    for found in _TOKEN.finditer(text):
        line += text.count("\n", end, found.start())
        end, sign = found.start(), found[0]
        if sign in "}]":
            path, is_key = stack.pop()[0], False
        elif sign == ",":
            base, index = stack[-1]
            is_key = index is None
            if index is not None:
                stack[-1] = (base, index + 1)
                path = inside(base, index + 1)
        elif is_key and sign != ":":
            path, is_key = inside(stack[-1][0], clean_text(json.loads(sign))), False
            if path in lines:
                doubled.append(path)
            if len(path) <= _LONGEST_PATH:
                lines[path] = line
        elif sign != ":":
            if len(path) <= _LONGEST_PATH:
                lines.setdefault(path, line)
            if sign in "{[":
                stack.append((path, None if sign == "{" else 0))
                is_key = sign == "{"
                path = path if sign == "{" else inside(path, 0)
    return lines, doubled
