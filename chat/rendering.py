"""Turn parts and words into HTML."""

from dataclasses import dataclass
from functools import cache

import nh3
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt

from chat.artifacts import artifacts_of
from chat.events import events_after
from chat.models import Turn
from chat.models.message import Role
from chat.models.turn import OPEN
from chat.parts import CallCard, Change, Part, TurnView, Words, view_of
from chat.queueing import queue_of
from chat.selectors import Branches, branches_of, following_of
from chat.value_tree import value_tree

_BLOCKS = "blockquote br h1 h2 h3 h4 h5 h6 hr li ol p pre table tbody td th thead tr ul"
_TAGS = frozenset(f"{_BLOCKS} a b code del em i s strong".split())
"""No images: an address in one could carry off what was said, without anybody's click."""

_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "code": {"class"}}


@dataclass(frozen=True, kw_only=True)
class ShownTurn:
    """A turn ready for the page; `number` is the event from which the live stream goes on."""

    turn: Turn
    said: str
    html: SafeString
    number: int
    is_open: bool
    branches: Branches | None = None
    """Which of several answers it is, where there are several."""


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


def changes_html(view: TurnView, changes: list[Change]) -> str:
    """Return the out-of-band fragments that bring a page up to date."""
    return "".join(_change_html(view, change) for change in changes)


def ended_html(turn: Turn) -> str:
    """Return the fragments that make the page ready for the next message.

    Where a message waited that was sent by now, its turn is among them, and follows itself live.
    """
    conversation = turn.conversation
    following = following_of(turn)
    context = {
        "turn": turn,
        "branches": branches_of([turn])[turn.pk],
        "conversation": conversation,
        "following": shown_turn(following) if following else None,
        "running": following,
        "queued": queue_of(conversation),
        "artifacts": artifacts_of(conversation),
        "oob": True,
    }
    return render_to_string("chat/_ended.html", context)


def shown_turn(turn: Turn) -> ShownTurn:
    """Return what the page needs of a turn whose messages were fetched."""
    is_open = turn.status in OPEN
    view = view_of(turn, events_after(turn.pk, 0) if is_open else ())
    said = next((m.content for m in turn.messages.all() if m.role == Role.USER), "")
    return ShownTurn(
        turn=turn,
        said=said,
        html=SafeString("".join(part_html(part) for part in view.parts)),
        number=view.number,
        is_open=is_open and not view.over,
    )


def _change_html(view: TurnView, change: Change) -> str:
    part = change.part
    if change.new:
        context = {"turn_id": view.turn_id, "html": part_html(part)}
        return render_to_string("chat/_new_part.html", context)
    # a card that is open under a reader's eyes keeps its frame; only what is in it is swapped
    in_place = isinstance(part, CallCard) and part.status != "failed"
    template = "chat/_call_update.html" if in_place else part.template
    return render_to_string(template, {"part": part, "oob": True, **_shown(part)})


def _shown(part: Part) -> dict[str, object]:
    """Return what a part's template needs beside the part."""
    if isinstance(part, Words):
        return {"html": markdown(part.text)}
    if isinstance(part, CallCard):
        shown = value_tree(part.output) if part.status == "succeeded" else ""
        return {"arguments": value_tree(part.arguments), "output": shown}
    return {}
