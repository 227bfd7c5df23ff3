"""Turn parts and words into HTML."""

from dataclasses import dataclass

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from chat.answer_forms import fields_of, keeping_choices
from chat.artifacts import artifacts_of
from chat.events import events_after
from chat.folding import TurnView, view_of
from chat.forms import CONVERSATION
from chat.markdown import Growing, markdown
from chat.models import Turn
from chat.models.message import Role
from chat.models.turn import OPEN
from chat.parts import Ask, CallCard, Change, Group, Part, Words
from chat.queueing import queue_of
from chat.selectors import Branches, branches_of, following_of, has_promotable
from chat.value_tree import copied, value_tree


@dataclass(frozen=True, kw_only=True)
class ShownTurn:
    """A turn ready for the page; `number` is the event from which the live stream goes on."""

    turn: Turn
    said: str
    html: SafeString
    number: int
    is_open: bool
    waiting_for: tuple[Ask, ...] = ()
    """What the person is asked, while the turn waits for them."""
    branches: Branches | None = None
    """Which of several answers it is, where there are several."""
    promotable: bool = False
    """Whether its calls can become a sequence."""


def part_html(part: Part) -> SafeString:
    """Return the HTML of one part."""
    return render_to_string(part.template, {"part": part, **shown_with(part)})


def changes_html(view: TurnView, changes: list[Change]) -> str:
    """Return the out-of-band fragments that bring a page up to date; each part once, as it is."""
    return "".join(_change_html(view, change) for change in _told_once(changes))


def status_html(view: TurnView) -> str:
    """Return the line below an open turn: the agent is at work, or it waits for the person."""
    context = {
        "turn_id": view.turn_id,
        "is_open": not view.over,
        "waiting_for": view.waiting_for,
        "oob": True,
    }
    names = ("chat/_turn_status.html", "chat/_composer_waiting.html")
    return "".join(render_to_string(name, context) for name in names)


def ended_html(turn: Turn) -> str:
    """Return the fragments that make the page ready for the next message.

    Where a message waited that was sent by now, its turn is among them, and follows itself live.
    """
    turn.refresh_from_db(fields=["status", "usage", "cost", "finished_at"])
    conversation = turn.conversation
    following = following_of(turn)
    context = {
        "turn": turn,
        "turn_id": turn.pk,
        "branches": branches_of([turn])[turn.pk],
        "conversation": conversation,
        "following": shown_turn(following) if following else None,
        "promotable": has_promotable(turn),
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
        waiting_for=tuple(view.waiting_for),
        promotable=has_promotable(turn),
    )


def shown_with(part: Part) -> dict[str, object]:
    """Return what a part's template needs beside the part."""
    match part:
        case Words() if part.busy:
            part.growing = Growing()
            settled = part.growing.grow(part.text)
            return {"html": SafeString(settled), "open_html": part.growing.open_html()}
        case Words():
            return {"html": markdown(part.text)}
        case Group():
            return {"cards": SafeString("".join(part_html(card) for card in part.cards))}
        case CallCard():
            return _call_shown(part)
        case Ask() if part.answer is None and part.open:
            return ask_shown(part)
    return {}


def ask_shown(ask: Ask) -> dict[str, object]:
    """Return what the form of a request needs before anything is typed."""
    return {
        "fields": fields_of(ask) if ask.kind == "approval" else [],
        "choices": keeping_choices(ask.agent_name),
        "typed": {"keep": CONVERSATION},
    }


def _call_shown(card: CallCard) -> dict[str, object]:
    succeeded = card.status == "succeeded"
    output = card.output
    if succeeded and card.code and isinstance(output, dict) and "result" in output:
        output = output["result"]  # what it printed and called stands by itself
    return {
        "arguments": value_tree(card.arguments),
        "arguments_text": copied(card.arguments),
        "output": value_tree(output) if succeeded else "",
        "output_text": copied(output) if succeeded else "",
    }


def _told_once(changes: list[Change]) -> list[Change]:
    """Return the changes without those that a later or larger one of the same part tells too."""
    kept: dict[str, Change] = {}
    for change in changes:
        earlier = kept.get(change.part.id)
        if earlier is None or (not earlier.new and (change.gone or earlier.progress)):
            kept[change.part.id] = change
    return list(kept.values())


def _change_html(view: TurnView, change: Change) -> str:
    part = change.part
    if change.new:
        into = change.into or f"turn-{view.turn_id}-parts"
        return render_to_string("chat/_new_part.html", {"into": into, "html": part_html(part)})
    if change.gone:
        return render_to_string("chat/_gone.html", {"part": part})
    context = {"part": part, "oob": True}
    if isinstance(part, Words) and part.busy and part.growing:
        # what is finished is on the page already, and is never sent again
        settled = SafeString(part.growing.grow(part.text))
        grown = {"settled": settled, "open_html": part.growing.open_html()}
        return render_to_string("chat/_words_grown.html", {**context, **grown})
    if isinstance(part, Group):
        return render_to_string("chat/_group_head.html", context)
    if isinstance(part, CallCard) and change.progress:
        return render_to_string("chat/_call_progress.html", context)
    # a card that is open under a reader's eyes keeps its frame; only what is in it is swapped
    in_place = isinstance(part, CallCard) and part.status != "failed"
    template = "chat/_call_update.html" if in_place else part.template
    return render_to_string(template, {**context, **shown_with(part)})
