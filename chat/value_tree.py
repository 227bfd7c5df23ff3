"""Show any JSON value as a tree that a person can fold and unfold, without a script."""

from itertools import islice

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config.lib.types import JsonValue

MOST_ITEMS = 200
"""Items shown of one list or object."""

DEEPEST = 12
OPEN_DEPTH = 2
LONGEST_TEXT = 20_000


def value_tree(value: JsonValue, depth: int = 0) -> SafeString:
    """Return the HTML of a value; the first levels are open."""
    match value:
        case dict() | list() if value and depth < DEEPEST:
            return _branch(value, depth)
        case dict() | list():
            return format_html('<span class="json-literal">{}</span>', _kind(value))
        case str():
            text = value if len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]}…"
            return format_html('<span class="json-string">{}</span>', text)
        case bool() | None:
            words = {True: "true", False: "false", None: "null"}[value]
            return format_html('<span class="json-literal">{}</span>', words)
        case _:
            return format_html('<span class="json-number">{}</span>', value)


def _branch(value: JsonValue, depth: int) -> SafeString:
    pairs = value.items() if isinstance(value, dict) else enumerate(value, start=1)
    rows = format_html_join(
        "",
        '<div class="json-row"><span class="json-key">{}</span>: {}</div>',
        ((key, value_tree(item, depth + 1)) for key, item in islice(pairs, MOST_ITEMS)),
    )
    if len(value) > MOST_ITEMS:
        rows += format_html('<div class="muted">… {} more</div>', len(value) - MOST_ITEMS)
    return format_html(
        "<details{}><summary>{}</summary><div>{}</div></details>",
        SafeString(" open") if depth < OPEN_DEPTH else "",
        _kind(value),
        rows,
    )


def _kind(value: JsonValue) -> str:
    if not value:
        return "empty object" if isinstance(value, dict) else "empty list"
    noun = "field" if isinstance(value, dict) else "item"
    return f"{len(value)} {noun}{'' if len(value) == 1 else 's'}"
