"""Files that tools save in a run."""

import pytest
from django.contrib.auth.models import User

from chat.artifacts import ConversationArtifacts
from registry.artifact_store import LARGEST, ArtifactRejected
from registry.errors import ArtifactNotFound
from sequences.artifacts import RunArtifacts
from sequences.models import Run, RunArtifact
from tests.factories import make_conversation, make_turn
from tests.sequences import workshop
from tests.sequences.workshop import fixed, ran, run_of, sequence_of, step

READ = {"text": {"source": "static", "value": "«artifact_content:note.txt»"}}


@pytest.fixture
def run(alice: User) -> Run:
    return run_of(sequence_of(alice, step(workshop.make("echo"))), alice)


def test_a_file_of_a_step_is_kept_and_a_later_step_can_read_it(alice: User) -> None:
    saving = step(workshop.make("save_file"), inputMapping=fixed(text="hello"))
    run = ran(alice, saving, step(workshop.make("echo"), inputMapping=READ))
    assert run.status == "succeeded", run.error
    assert run.steps.get(number=2).output == {"text": "hello"}
    kept = RunArtifact.objects.get()
    assert (kept.run, kept.step, kept.name) == (run, run.steps.get(number=1), "note.txt")
    assert (kept.version, bytes(kept.content)) == (1, b"hello")
    assert kept.invocation_id is not None


def test_a_step_that_reads_a_file_that_is_not_there_is_told_which_are(alice: User) -> None:
    run = ran(alice, step(workshop.make("echo"), inputMapping=READ))
    assert run.error["code"] == "invalid_embed"
    assert "This run has no artifact note.txt." in run.error["message"]


def test_a_sequence_inside_reads_the_files_of_the_run_around_it(alice: User) -> None:
    inner = sequence_of(alice, step(workshop.make("echo"), inputMapping=READ), wire_name="inner")
    saving = step(workshop.make("save_file"), inputMapping=fixed(text="hello"))
    run = ran(alice, saving, step(inner))
    assert run.steps.get(number=2).output[0]["output"] == {"text": "hello"}


def test_a_run_of_a_conversation_reads_there_and_saves_with_itself(alice: User) -> None:
    turn = make_turn(make_conversation(alice))
    of_conversation = ConversationArtifacts(turn.conversation_id)
    of_conversation.save("note.txt", b"told", "text/plain")
    echo, save = workshop.make("echo"), workshop.make("save_file")
    saving = step(save, inputMapping=fixed(text="mine"))
    run = ran(
        alice,
        step(echo, inputMapping=READ),
        saving,
        step(echo, inputMapping=READ),
        turn_id=turn.pk,
    )
    assert run.status == "succeeded", run.error
    texts = [run.steps.get(number=number).output["text"] for number in (1, 3)]
    assert texts == ["told", "mine"]
    assert of_conversation.read("note.txt") == "told"


def test_versions_are_counted_by_name(run: Run) -> None:
    kept = RunArtifacts(run, None)
    assert [kept.save("a", b"x", "text/plain")["version"] for _ in range(2)] == [1, 2]
    assert kept.save("b", b"y", "text/plain")["version"] == 1
    assert (kept.read("a", 1), kept.read("b")) == ("x", "y")
    with pytest.raises(ArtifactNotFound, match="no artifact a of version 3"):
        kept.read("a", 3)


def test_the_files_of_a_run_have_a_limit(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = RunArtifacts(run, None)
    with pytest.raises(ArtifactRejected, match="all artifacts of a run"):
        kept.save("big", b"x" * (LARGEST + 1), "text/plain")
    monkeypatch.setattr("registry.artifact_store.LARGEST_TOTAL", 5)
    kept.save("one", b"abc", "text/plain")
    with pytest.raises(ArtifactRejected):
        kept.save("two", b"abc", "text/plain")


def test_runs_do_not_see_the_files_of_one_another(run: Run, alice: User) -> None:
    RunArtifacts(run, None).save("a", b"x", "text/plain")
    assert run.tool is not None
    with pytest.raises(ArtifactNotFound):
        RunArtifacts(run_of(run.tool, alice), None).read("a")
