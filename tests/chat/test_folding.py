"""A turn is folded into the same parts live, from its events, and later, from its rows."""

import json
import re

import pytest

from chat.events import Event
from chat.folding import TurnView, view_for, view_of
from chat.models import InputRequest
from chat.models.message import Role
from chat.models.turn import TurnStatus
from chat.parts import Ask, CallCard, Ending, Group, Note, Words
from chat.rendering import changes_html
from tests import factories

CALLS = [
    {"id": "a", "name": "calculator", "arguments": {"expression": "1"}},
    {"id": "b", "name": "dice", "arguments": {}},
]
GAVE = {"status": "succeeded", "output": 1, "duration_ms": 700}
BROKE = {
    "status": "failed",
    "error": {"code": "x", "message": "It broke.", "hint": "", "extra": {}},
    "duration_ms": 500,
}


def told(view: TurnView, *events: tuple[str, dict]) -> str:
    """Apply events; return what the last one changes on the page."""
    html = ""
    for name, data in events:
        html = changes_html(view, view.apply(Event(view.number + 1, name, data)))
    return html


def shape(view: TurnView) -> list[object]:
    """Return the parts as one compares them: without their ids and times."""
    shapes: list[object] = []
    for part in view.parts:
        match part:
            case Words():
                shapes.append(("words", part.text, part.busy))
            case Group():
                cards = [
                    (c.name, c.arguments, c.status, c.output, c.duration_ms) for c in part.cards
                ]
                shapes.append(("group", part.folded, cards))
            case Ask():
                decision = (part.answer or {}).get("decision")
                shapes.append(("ask", part.kind, part.call_id, decision, part.words, part.open))
            case Note():
                shapes.append(("note", part.text))
            case Ending():
                shapes.append(("ending", part.status))
    return shapes


@pytest.fixture
def turn(alice):
    conversation = factories.make_conversation(alice)
    return factories.make_turn(conversation, model="m", status=TurnStatus.COMPLETED)


@pytest.fixture
def asked(turn):
    return InputRequest.objects.create(
        turn=turn,
        kind="approval",
        call_id="a",
        tool_name="calculator",
        asked={"arguments": {"expression": "1"}, "reason": "It asks."},
    )


def test_a_turn_with_calls_and_an_approval_is_the_same_live_and_later(turn, asked):
    live = view_for(turn)
    request = {"request": str(asked.pk), "id": "a", "kind": "approval"}
    told(
        live,
        ("turn.started", {"model": "m"}),
        ("model.retried", {"model": "m", "error": "busy", "waits_ms": 2000}),
        ("text.delta", {"text": "Let me "}),
        ("text.delta", {"text": "see."}),
        ("tool.drafting", {"id": "a", "name": "calculator", "size": 3}),
        *(("tool.call", call) for call in CALLS),
        ("input.required", {**request, "tool": "calculator", **asked.asked}),
        ("tool.result", {"id": "b", **BROKE}),
        ("turn.waiting", {"requests": [str(asked.pk)]}),
        ("input.answered", {**request, "decision": "approve"}),
        ("turn.resumed", {}),
        ("tool.result", {"id": "a", **GAVE}),
        ("tool.call", {"id": "c", "name": "dice", "arguments": {}}),
        ("tool.result", {"id": "c", **GAVE}),
        ("text.delta", {"text": "One."}),
        ("turn.completed", {"status": "completed"}),
    )

    asked.answer, asked.answered_by = {"decision": "approve"}, turn.conversation.user
    asked.answered_at = turn.created_at
    asked.save()
    attempts = [{"model": "m", "error": "busy"}, {"model": "m", "waited_ms": 2000}]
    turn.steps.create(number=1, model="m", attempts=attempts)
    calls = [{**call, "arguments": json.dumps(call["arguments"])} for call in CALLS]
    rows = [
        {"role": Role.ASSISTANT, "content": "Let me see.", "tool_calls": calls},
        {"role": Role.TOOL, "tool_call_id": "a", "result": GAVE},
        {"role": Role.TOOL, "tool_call_id": "b", "result": BROKE},
        {"role": Role.ASSISTANT, "tool_calls": [{"id": "c", "name": "dice", "arguments": "{}"}]},
        {"role": Role.TOOL, "tool_call_id": "c", "result": GAVE},
        {"role": Role.ASSISTANT, "content": "One."},
    ]
    for position, row in enumerate(rows):
        turn.messages.create(position=position, **row)

    assert shape(live) == shape(view_of(turn))
    assert [kind[0] for kind in shape(live)] == ["note", "words", "group", "ask", "group", "words"]


def test_calls_without_words_between_them_are_one_group_that_folds_when_words_come(turn):
    view = view_for(turn)
    told(
        view,
        ("tool.call", CALLS[0]),
        ("tool.result", {"id": "a", **GAVE}),
        ("tool.call", CALLS[1]),
    )
    [group] = view.parts
    assert isinstance(group, Group)
    assert group.is_open and group.busy
    html = told(view, ("tool.result", {"id": "b", **BROKE}), ("text.delta", {"text": "So."}))
    assert not group.is_open
    assert (group.names, group.failures, group.duration_ms) == ("calculator, dice", "dice", 1200)
    assert "data-folds" in html
    assert "Used calculator, dice" in html


def test_arguments_that_are_being_written_show_on_the_card_that_is_then_called(turn):
    view = view_for(turn)
    html = told(view, ("tool.drafting", {"id": "a", "name": "calculator", "size": 12}))
    assert "writing arguments" in html
    html = told(view, ("tool.drafting", {"id": "a", "name": "calculator", "size": 40}))
    assert "40 characters" in html
    told(view, ("tool.call", CALLS[0]))
    [group] = view.parts
    assert isinstance(group, Group)
    assert [card.status for card in group.cards] == ["running"]


def test_a_call_that_was_never_finished_writing_leaves_the_page(turn):
    view = view_for(turn)
    drafting = ("tool.drafting", {"id": "a", "name": "calculator", "size": 12})
    html = told(view, drafting, ("turn.completed", {"status": "stopped"}))
    assert 'hx-swap-oob="delete"' in html
    assert [type(part) for part in view.parts] == [Ending]


def test_a_turn_that_goes_on_forgets_how_it_had_ended(turn):
    view = view_for(turn)
    told(view, ("text.delta", {"text": "Half"}), ("turn.failed", {"error": {"message": "x"}}))
    assert view.over
    html = told(view, ("turn.resumed", {"cause": "continued"}))
    assert not view.over
    assert 'hx-swap-oob="delete"' in html
    assert [type(part) for part in view.parts] == [Words]


def test_a_call_that_waits_says_so_until_it_is_answered(turn, asked):
    view = view_for(turn)
    request = {"request": str(asked.pk), "id": "a", "kind": "approval", "tool": "calculator"}
    html = told(view, ("tool.call", CALLS[0]), ("input.required", {**request, **asked.asked}))
    assert "Waiting for you" in html
    assert "It asks." in html
    assert [ask.request for ask in view.waiting_for] == [str(asked.pk)]
    html = told(view, ("input.answered", {**request, "decision": "deny", "note": "Not now"}))
    assert "You denied calculator" in html
    assert "Not now" in html
    assert view.waiting_for == []


def test_a_question_takes_the_place_of_its_call(turn):
    view = view_for(turn)
    asking = {"id": "q", "name": "ask_user", "arguments": {"question": "Which?"}}
    request = {"request": "r", "id": "q", "kind": "question", "tool": "ask_user"}
    told(view, ("tool.call", asking), ("input.required", {**request, "question": "Which?"}))
    assert [type(part) for part in view.parts] == [Ask]
    told(view, ("tool.result", {"id": "q", **GAVE}))
    assert [type(part) for part in view.parts] == [Ask]


def test_what_nobody_answered_is_not_asked_any_more_when_the_turn_is_over(turn, asked):
    view = view_for(turn)
    request = {"request": str(asked.pk), "id": "a", "kind": "approval", "tool": "calculator"}
    told(view, ("tool.call", CALLS[0]), ("input.required", request))
    html = told(view, ("turn.completed", {"status": "stopped"}))
    assert "Nobody answered" in html
    assert "<form" not in html.partition("ask-decided")[2].partition("</div>")[0]


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        (
            "model.retried",
            {"model": "a", "error": {"message": "Busy."}, "waits_ms": 1500},
            "a did not answer (Busy); asking again in 1.5 s.",
        ),
        ("model.switched", {"from": "a", "to": "b"}, "a does not answer; b goes on."),
        (
            "context.compacted",
            {"dropped_turns": 2, "dropped_results": 1},
            "2 earlier messages and 1 earlier result",
        ),
    ],
)
def test_what_happens_behind_the_answer_is_a_quiet_line(turn, name, data, line):
    view = view_for(turn)
    assert line in told(view, (name, data))


def test_a_card_says_in_a_line_what_it_was_given_and_gave():
    card = CallCard(name="x", arguments={"city": "Oslo", "days": 3}, status="succeeded", output=[1])
    assert (card.given, card.gave) == ("city: Oslo, days: 3", "1")


def test_a_call_that_was_approved_with_other_arguments_shows_them(turn, asked):
    view = view_for(turn)
    request = {"request": str(asked.pk), "id": "a", "kind": "approval", "tool": "calculator"}
    told(view, ("tool.call", CALLS[0]), ("input.required", {**request, **asked.asked}))
    answer = {"decision": "approve", "changed": True, "arguments": {"expression": "20 * 20"}}
    html = told(view, ("input.answered", {**request, **answer}))
    assert "You approved calculator with other arguments" in html
    assert "20 * 20" in html


def test_another_agent_that_waits_is_led_to(turn):
    view = view_for(turn)
    desk = {"agent": "Travel desk", "conversation": str(turn.conversation_id), "turn": str(turn.pk)}
    request = {"request": "r", "id": "a", "kind": "agent", "tool": "ask_desk"}
    html = told(view, ("tool.call", CALLS[0]), ("input.required", {**request, **desk}))
    assert "Travel desk</span>" in html.replace(" waits for you", "")
    assert f"/chat/{turn.conversation_id}/#turn-{turn.pk}" in html
    assert "<form" not in html.split('id="request-r"')[1].split("</section>")[0]
    html = told(view, ("input.answered", {**request, "decision": "answer"}))
    assert "Travel desk has its answer" in html


def test_a_finished_block_of_an_answer_is_sent_once(turn):
    view = view_for(turn)
    html = told(view, ("text.delta", {"text": "First **block**.\n\nMiddle.\n\nSec"}))
    assert "<strong>block</strong>" in html
    html = told(view, ("text.delta", {"text": "ond.\n\nThird"}))
    assert "First" not in html
    assert "<p>Second.</p>" in html
    assert html.index("Second") < html.index("Third")
    html = told(view, ("text.delta", {"text": "\n\nLast"}))
    assert "<p>Second.</p>" in html
    html = told(view, ("text.delta", {"text": " too"}))
    assert "Second" not in html
    assert "Last too" in html
    html = told(view, ("turn.completed", {"status": "completed"}))
    assert all(word in html for word in ("First", "Second", "Last too")), "whole at the end"


def test_a_page_that_comes_later_is_given_all_that_was_said(turn):
    view = view_for(turn)
    for number, text in enumerate(("First.\n\nSec", "ond.\n\nThird.\n\n"), 1):
        view.apply(Event(number, "text.delta", {"text": text}))
    html = told(view, ("text.delta", {"text": "Fourth"}))
    assert "First" in html
    html = told(view, ("text.delta", {"text": " too"}))
    assert "First" not in html


PLAN = {"id": "a", "plan": [{"step": 1, "message": "Add up"}, {"step": 2, "message": "Send it"}]}


def test_a_step_keeps_its_title_while_it_goes_and_when_the_run_is_over(turn):
    view = view_for(turn)
    note = {"id": "a", "step": 1, "status": "succeeded", "message": "It is 4."}
    html = told(view, ("tool.call", CALLS[0]), ("tool.progress", PLAN), ("tool.progress", note))
    assert re.search(r"Add up</span>\s*It is 4\.", html)
    assert "Send it" in html
    log = [{"stepNumber": 1, "title": "Add up", "status": "succeeded", "message": "It is 4."}]
    html = told(view, ("tool.result", {"id": "a", **GAVE, "details": {"log": log}}))
    assert re.search(r"Add up</span>\s*It is 4\.", html)


def test_values_for_a_question_of_a_run_are_not_taken_for_the_arguments_of_the_call(turn):
    view = view_for(turn)
    asks = {"request": "r", "id": "a", "kind": "approval", "tool": "calculator"}
    run = {"run": "5f0f4f8e-0000-4000-8000-000000000000", "run_request": "q", "title": "Send it?"}
    values = {"decision": "approve", "arguments": {"greeting": "Hello"}}
    told(
        view,
        ("tool.call", CALLS[0]),
        ("input.required", {**asks, **run, "arguments": {}}),
        ("input.answered", {"request": "r", **values}),
    )
    (group,) = [part for part in view.parts if isinstance(part, Group)]
    assert group.cards[0].arguments == CALLS[0]["arguments"]


def test_a_call_whose_run_is_in_doubt_leads_to_the_run_and_is_not_offered_again(turn):
    view = view_for(turn)
    run = "5f0f4f8e-0000-4000-8000-000000000000"
    error = {**BROKE["error"], "code": "run_in_doubt"}
    details = {"details": {"run_id": run}}
    for code, again in ((error, False), (BROKE["error"], True)):
        record = {"id": "a", **BROKE, "error": code, **details}
        html = told(view, ("tool.call", CALLS[0]), ("tool.result", record))
        assert ("Try again" in html) is again
        assert ("Say what became of it" in html) is not again
        assert run in html
