"""Show any JSON value as a tree that a person can fold and unfold, without a script.

A list of like objects is shown as a table, with the tree behind it.
"""

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config.lib.types import JsonValue

MOST_ITEMS = 200
"""Items shown of one list or object."""

DEEPEST = 12
OPEN_DEPTH = 2
LONGEST_TEXT = 20_000

LONG_TEXT = 400
"""Characters of a text that stand there before anybody asks for all of it."""

MOST_ROWS = 50
MOST_COLUMNS = 12
LEAST_ALIKE = 0.5
"""The share of all columns that each row of a table has to fill."""

MOST_COPIED = 64_000
LONGEST_LINE = 90


def value_tree(value: JsonValue, depth: int = 0, *, tables: bool = True) -> SafeString:
    """Return the HTML of a value; the first levels are open."""
    match value:
        case dict() | list() if value and depth < DEEPEST:
            if isinstance(value, list) and tables and (columns := _columns(value)):
                return _table(value, columns, depth)
            return _branch(value, depth, tables=tables)
        case dict() | list():
            return format_html('<span class="json-literal">{}</span>', _kind(value))
        case str():
            return _text(value)
        case bool() | None:
            words = {True: "true", False: "false", None: "null"}[value]
            return format_html('<span class="json-literal">{}</span>', words)
        case _:
            return format_html('<span class="json-number">{}</span>', value)


def copied(value: JsonValue) -> str:
    """Return a value as the text that a copy of it is; nothing where it is too long for a page."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return text if len(text) <= MOST_COPIED else ""


def one_line(value: JsonValue, most: int = LONGEST_LINE) -> str:
    """Return a value in one short line: `city: Oslo, days: 3`."""
    match value:
        case dict() if len(value) == 1 and not isinstance(only := next(iter(value.values())), dict):
            text = one_line(only, most)
        case dict():
            parts = (f"{key}: {_word(item)}" for key, item in islice(value.items(), 8))
            text = ", ".join(parts)
        case list():
            scalar = not any(isinstance(item, dict | list) for item in value)
            text = ", ".join(_word(item) for item in value[:8]) if scalar else _kind(value)
        case None:
            text = ""
        case _:
            text = _word(value)
    text = " ".join(text[: most * 4].split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _word(value: JsonValue) -> str:
    match value:
        case dict() | list():
            return _kind(value)
        case str():
            return value[: LONGEST_LINE * 2]
        case _:
            return json.dumps(value)


def _text(value: str) -> SafeString:
    """Return a text; of a long one the start, with the rest behind a press."""
    if len(value) <= LONG_TEXT:
        return format_html('<span class="json-string">{}</span>', value)
    shown = value if len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]}…"
    return format_html(
        '<details class="json-long"><summary><span class="json-string">{}…</span> '
        '<span class="json-more">show all {} characters</span></summary>'
        '<span class="json-string">{}</span></details>',
        value[:LONG_TEXT],
        f"{len(value):,}",
        shown,
    )


def _branch(value: JsonValue, depth: int, *, tables: bool) -> SafeString:
    pairs = value.items() if isinstance(value, dict) else enumerate(value, start=1)
    rows = format_html_join(
        "",
        '<div class="json-row"><span class="json-key">{}</span>: {}</div>',
        (
            (key, value_tree(item, depth + 1, tables=tables))
            for key, item in islice(pairs, MOST_ITEMS)
        ),
    )
    if len(value) > MOST_ITEMS:
        rows += format_html('<div class="muted">… {} more</div>', len(value) - MOST_ITEMS)
    return format_html(
        "<details{}><summary>{}</summary><div>{}</div></details>",
        SafeString(" open") if depth < OPEN_DEPTH else "",
        _kind(value),
        rows,
    )


def _columns(value: list[Any]) -> list[str]:
    """Return the columns of a list of like objects; none where a table would not suit it."""
    if len(value) < 2:  # noqa: PLR2004
        return []
    if not all(isinstance(item, Mapping) and item for item in value):
        return []
    columns = list(dict.fromkeys(str(key) for item in value for key in item))
    if len(columns) > MOST_COLUMNS:
        return []
    alike = all(len(item) >= LEAST_ALIKE * len(columns) for item in value)
    return columns if alike else []


def _table(value: list[Any], columns: list[str], depth: int) -> SafeString:
    head = format_html_join("", '<th scope="col">{}</th>', ((name,) for name in columns))
    rows = format_html_join(
        "", "<tr>{}</tr>", ((_cells(item, columns, depth),) for item in value[:MOST_ROWS])
    )
    more = ""
    if len(value) > MOST_ROWS:
        more = format_html('<p class="muted">… {} more rows</p>', f"{len(value) - MOST_ROWS:,}")
    return format_html(
        '<div class="json-table"><div class="json-scroll" tabindex="0" role="region" '
        'aria-label="Table, {}"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
        '{}<details class="json-as-tree"><summary>Show as tree</summary><div>{}</div></details>'
        "</div>",
        _kind(value),
        head,
        rows,
        more,
        _branch(value, depth, tables=False),
    )


def _cells(item: dict[str, JsonValue], columns: list[str], depth: int) -> SafeString:
    cells = (
        (value_tree(item[name], max(depth + 1, OPEN_DEPTH), tables=False) if name in item else "",)
        for name in columns
    )
    return format_html_join("", "<td>{}</td>", cells)


def _kind(value: JsonValue) -> str:
    if not value:
        return "empty object" if isinstance(value, dict) else "empty list"
    noun = "field" if isinstance(value, dict) else "item"
    return f"{len(value):,} {noun}{'' if len(value) == 1 else 's'}"
