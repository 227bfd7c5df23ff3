"""Turn parts and words into HTML."""

from functools import cache

import nh3
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt

from chat.parts import CallCard, Change, Part, TurnView, Words
from chat.value_tree import value_tree

_TAGS = frozenset(
    "a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i li ol p pre s strong table tbody td th "
    "thead tr ul".split()
)
"""No images: an address in one could carry off what was said, without anybody's click."""

_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "code": {"class"}}


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def markdown(text: str) -> SafeString:
    """Return a model's Markdown as HTML that can do no harm."""
    html = nh3.clean(
        _markdown().render(text),
        tags=set(_TAGS),
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return SafeString(html)


def part_html(part: Part) -> SafeString:
    """Return the HTML of one part."""
    return render_to_string(part.template, {"part": part, **_shown(part)})


def parts_html(view: TurnView) -> SafeString:
    """Return the HTML of a turn's parts."""
    return SafeString("".join(part_html(part) for part in view.parts))


def changes_html(view: TurnView, changes: list[Change]) -> str:
    """Return the out-of-band fragments that bring a page up to date."""
    context = {"turn_id": view.turn_id}
    return "".join(
        render_to_string(
            "chat/_change.html",
            {
                **context,
                "part": change.part,
                "new": change.new,
                "template": change.part.template,
                "is_card": isinstance(change.part, CallCard),
                "html": part_html(change.part),
                **_shown(change.part),
            },
        )
        for change in changes
    )


def _shown(part: Part) -> dict[str, object]:
    """Return what a part's template needs beside the part."""
    if isinstance(part, Words):
        return {"html": markdown(part.text)}
    if isinstance(part, CallCard):
        shown = value_tree(part.output) if part.status == "succeeded" else ""
        return {"arguments": value_tree(part.arguments), "output": shown}
    return {}
