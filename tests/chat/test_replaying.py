"""What is kept of a paused program in rows is what it is run again from."""

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from chat.models import InputRequest, ProgramCall, Turn
from chat.models.turn import TurnStatus
from chat.replaying import keep, replay_of
from registry.errors import ProgramPaused
from registry.models import Invocation
from registry.replay import Decided, Pause, PendingCall, RecordedCall, Start
from registry.results import Failed
from tests import factories


@pytest.fixture
def turn(alice: User) -> Turn:
    conversation = factories.make_conversation(alice, factories.make_agent(alice))
    return factories.make_turn(conversation, number=1, status=TurnStatus.RUNNING)


def paused(start: Start, *calls: RecordedCall, key: str = "b#1") -> Failed:
    waits = PendingCall(
        key=key,
        number=2,
        tool="send",
        tool_id=None,
        arguments={"n": 1},
        error={"code": "approval_required"},
    )
    pause = Pause(start=start, calls=calls, pending=(waits,))
    details = {"invocation": start.invocation, "calls": [], "pause": pause.as_dict()}
    error = ProgramPaused("The program waits.")
    return Failed(error=error, duration_ms=1, invocation_id=None, details=details)


def first_call(output: Any = 1) -> RecordedCall:
    invocation = str(uuid.uuid4())
    return RecordedCall(
        key="a#1",
        number=1,
        tool="look",
        outcome={"output": output},
        invocation=invocation,
        duration_ms=7,
    )


def answered(turn: Turn, key: str, kind: str, answer: dict[str, Any]) -> None:
    InputRequest.objects.create(
        turn=turn,
        kind=kind,
        call_id="c1",
        inner_call=key,
        tool_name="send",
        answer=answer,
        answered_at=timezone.now(),
    )


def test_a_program_that_never_waited_runs_from_its_start(turn: Turn) -> None:
    first, second = replay_of(turn.pk, "c1"), replay_of(turn.pk, "c1")
    assert (first.recorded, first.decided) == ({}, {})
    assert first.start.seed != second.start.seed


def test_what_was_kept_comes_back_as_it_was(turn: Turn) -> None:
    start, call = Start.new(), first_call({"deep": [1, None]})
    [pending] = keep(turn.pk, "c1", paused(start, call))
    assert (pending.key, pending.arguments) == ("b#1", {"n": 1})
    replay = replay_of(turn.pk, "c1")
    assert replay.start == start
    assert replay.recorded == {"a#1": call}
    assert replay_of(turn.pk, "c2").recorded == {}


def test_a_second_pause_adds_to_the_first(turn: Turn) -> None:
    start, call = Start.new(), first_call()
    keep(turn.pk, "c1", paused(start, call))
    later = RecordedCall(key="b#1", number=2, tool="send", outcome={"error": {"code": "x"}})
    keep(turn.pk, "c1", paused(start, call, later, key="d#1"))
    assert replay_of(turn.pk, "c1").recorded == {"a#1": call, "b#1": later}


@pytest.mark.parametrize(
    ("kind", "answer", "decided"),
    [
        ("approval", {"decision": "approve"}, Decided(approved=True)),
        (
            "approval",
            {"decision": "approve", "arguments": {"n": 2}},
            Decided(approved=True, arguments={"n": 2}),
        ),
        ("approval", {"decision": "deny", "note": "no"}, Decided(approved=False, note="no")),
        ("credential", {"decision": "set"}, Decided()),
        ("credential", {"decision": "skip"}, Decided(skipped=True)),
        ("question", {"decision": "answer", "text": "blue"}, Decided(answer="blue")),
        ("question", {"decision": "skip"}, Decided(skipped=True)),
    ],
)
def test_an_answer_is_a_decision(
    turn: Turn, kind: str, answer: dict[str, Any], decided: Decided
) -> None:
    keep(turn.pk, "c1", paused(Start.new()))
    answered(turn, "b#1", kind, answer)
    assert replay_of(turn.pk, "c1").decided == {"b#1": decided}


def test_a_call_that_was_approved_and_then_lacked_a_key_stays_approved(turn: Turn) -> None:
    keep(turn.pk, "c1", paused(Start.new()))
    answered(turn, "b#1", "approval", {"decision": "approve"})
    answered(turn, "b#1", "credential", {"decision": "skip"})
    decided = replay_of(turn.pk, "c1").decided["b#1"]
    assert decided == Decided(approved=True, skipped=True)


def test_what_is_not_a_pause_keeps_nothing(turn: Turn) -> None:
    error = ProgramPaused("It waits.")
    assert keep(turn.pk, "c1", Failed(error=error, duration_ms=1, invocation_id=None)) == ()
    assert not ProgramCall.objects.exists()


def test_a_program_that_ended_is_not_replayed_when_its_call_is_made_again(turn: Turn) -> None:
    start = Start.new()
    keep(turn.pk, "c1", paused(start, first_call()))
    Invocation.objects.create(
        pk=start.invocation,
        tool=factories.make_run_code(),
        tool_version=1,
        caller="chat",
        outcome="succeeded",
        phase="execute",
        arguments={},
        duration_ms=1,
    )
    again = replay_of(turn.pk, "c1")
    assert (again.recorded, again.decided) == ({}, {})
    assert again.start.invocation != start.invocation
    keep(turn.pk, "c1", paused(again.start))
    assert replay_of(turn.pk, "c1").start == again.start
    assert replay_of(turn.pk, "c1").recorded == {}
