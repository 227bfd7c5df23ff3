"""The vectors of tools in the database: due when a text changes, worked out once."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from registry.models import Tool, ToolVector
from registry.search.catalogue import document_of
from registry.search.dense import embedding, storing
from registry.search.dense.encoder import EncoderUnavailable
from registry.search.dense.progress import vector_progress
from registry.search.dense.storing import vectors_ensure, vectors_round
from registry.search.dense.texts import digest_of, text_of
from registry.search.dense.vectors import unpacked
from registry.services import tool_delete
from tests.factories import make_tool
from tests.registry.search.dense.fakes import FakeEncoder

pytestmark = pytest.mark.django_db


def vector(tool):
    return ToolVector.objects.get(tool=tool)


def saved(tool, **fields):
    for name, value in fields.items():
        setattr(tool, name, value)
    tool.save()


def test_a_new_tool_waits_for_its_vector(encoder):
    row = vector(make_tool())
    assert row.due_at is not None
    assert row.vector is None


def test_the_vector_of_a_tool_is_that_of_its_text(encoder):
    tool = make_tool(description="Tells whether rain will fall.")
    assert vectors_round(encoder) == 1
    row = vector(tool)
    text = text_of(document_of(tool))
    assert (row.encoder, bytes(row.digest), row.due_at) == ("fake/1", digest_of(text), None)
    assert unpacked(bytes(row.vector)) @ encoder.encode([text])[0] > 0.999


def test_nothing_waits_when_all_is_done(encoder):
    make_tool()
    vectors_round(encoder)
    assert vectors_round(encoder) == 0
    assert len(encoder.seen) == 1


def test_a_changed_text_is_worked_out_again(encoder):
    tool = make_tool()
    vectors_round(encoder)
    saved(tool, description="Something else altogether.")
    assert vectors_round(encoder) == 1
    assert len(encoder.seen) == 2


@pytest.mark.parametrize(
    "change",
    [{"quality": "0.90"}, {"import_health": "broken"}, {"calls_per_minute": 5}, {"title": "T"}],
    ids=lambda change: next(iter(change)),
)
def test_a_change_that_is_not_of_the_text_makes_nothing_due(encoder, change):
    tool = make_tool()
    vectors_round(encoder)
    saved(tool, **change)
    assert vector(tool).due_at is None


def test_a_text_that_is_as_it_was_is_not_worked_out_again(encoder):
    tool = make_tool()
    vectors_round(encoder)
    saved(tool, output_schema={"type": "object", "description": "No part of its text."})
    assert vector(tool).due_at is not None
    assert vectors_round(encoder) == 1
    assert len(encoder.seen) == 1
    assert vector(tool).due_at is None


def test_a_vector_goes_with_its_tool(encoder, alice):
    tool = make_tool(owner=alice)
    vectors_round(encoder)
    tool_delete(tool)
    assert not ToolVector.objects.filter(tool=tool).exists()


def test_a_tool_that_comes_back_waits_again(encoder):
    tool = make_tool(deleted_at=timezone.now())
    assert not ToolVector.objects.filter(tool=tool).exists()
    saved(tool, deleted_at=None)
    assert vector(tool).due_at is not None


def test_another_encoder_works_all_out_again(encoder):
    tools = [make_tool(), make_tool()]
    vectors_round(encoder)
    other = FakeEncoder("fake/2")
    assert vectors_round(other) == 2
    assert {vector(tool).encoder for tool in tools} == {"fake/2"}


def test_the_vectors_of_another_encoder_are_never_read(encoder):
    from registry.search.dense.held import HeldVectors

    make_tool()
    vectors_round(encoder)
    held = HeldVectors("fake/2")
    held.read_all()
    assert len(held) == 0


def test_a_batch_has_an_end(encoder):
    for _ in range(5):
        make_tool()
    assert [vectors_round(encoder, batch=2) for _ in range(4)] == [2, 2, 1, 0]


def test_what_another_worker_has_claimed_is_left_to_it(encoder):
    make_tool()
    ToolVector.objects.update(claimed_until=timezone.now() + timedelta(seconds=30))
    assert vectors_round(encoder) == 0


def test_what_a_worker_lost_is_taken_up_again(encoder):
    make_tool()
    ToolVector.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    assert vectors_round(encoder) == 1


def test_a_text_that_changes_while_it_is_worked_out_stays_due(encoder, monkeypatch):
    tool = make_tool()
    encode = encoder.encode

    def slow(texts):
        saved(tool, description="Changed meanwhile.")
        return encode(texts)

    monkeypatch.setattr(encoder, "encode", slow)
    vectors_round(encoder)
    monkeypatch.undo()
    assert vector(tool).due_at is not None
    assert vectors_round(encoder) == 1
    assert "Changed meanwhile." in encoder.seen[-1] + "."


def test_when_the_encoder_is_away_the_tools_stay_due(encoder):
    tool = make_tool()
    encoder.fails = True
    with pytest.raises(EncoderUnavailable, match="away"):
        vectors_round(encoder)
    row = vector(tool)
    assert row.due_at is not None
    assert timezone.now() < row.claimed_until <= timezone.now() + storing.REST


def test_a_text_that_is_refused_holds_up_no_other(encoder):
    good, bad = make_tool(), make_tool(description="A strange text.")
    encoder.refuses = "strange"
    assert vectors_round(encoder) == 2
    assert vector(good).vector is not None
    assert (vector(bad).vector, vector(bad).problem) == (None, "This text is too strange.")
    assert vectors_round(encoder) == 0
    assert vector_progress(encoder).refused == 1


def test_progress_counts_what_is_there_and_what_waits(encoder):
    make_tool()
    vectors_round(encoder)
    make_tool()
    progress = vector_progress(encoder)
    assert (progress.stored, progress.waiting, progress.total, progress.percent) == (1, 1, 2, 50)
    assert vector_progress(FakeEncoder("fake/2")).waiting == 2


def test_ensuring_finds_tools_without_a_row(encoder):
    make_tool()
    ToolVector.objects.all().delete()
    assert vectors_ensure(encoder) == 1
    assert vectors_round(encoder) == 1


def test_again_works_out_what_did_not_change(encoder):
    make_tool()
    vectors_round(encoder)
    assert vectors_ensure(encoder, again=True) == 1
    vectors_round(encoder)
    assert len(encoder.seen) == 2


def test_the_worker_works_until_nothing_waits(encoder):
    for _ in range(3):
        make_tool()
    assert embedding.tools_embed() == 3
    assert embedding.tools_embed() == 0


def test_the_worker_stops_when_its_time_is_over(encoder):
    make_tool()
    assert embedding.tools_embed(seconds=0) == 0


def test_the_worker_leaves_the_work_to_one_that_is_at_it(encoder):
    make_tool()
    make_tool()
    one = ToolVector.objects.order_by("pk")[0]
    ToolVector.objects.filter(pk=one.pk).update(claimed_until=timezone.now() + timedelta(minutes=1))
    assert embedding.tools_embed() == 0


def test_a_failure_of_the_worker_is_kept_for_the_doctor_until_it_goes_well(encoder):
    make_tool()
    encoder.fails = True
    assert embedding.tools_embed() == 0
    assert vector_progress(encoder).problem == "The encoder is away."
    encoder.fails = False
    ToolVector.objects.update(claimed_until=None)
    assert embedding.tools_embed() == 1
    assert vector_progress(encoder).problem == ""


def test_without_an_encoder_the_worker_does_nothing(db):
    make_tool()
    assert embedding.tools_embed() == 0


def test_the_database_keeps_no_vector_without_its_origin(encoder):
    row = vector(make_tool())
    with pytest.raises(IntegrityError, match="tool_vector_has_origin"), transaction.atomic():
        ToolVector.objects.filter(pk=row.pk).update(vector=b"\1")


def test_picking_what_is_due_reads_no_more_than_its_index(encoder):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        told = ToolVector.objects.filter(storing._of_others(encoder)).explain()
    assert "tool_vector_encoder" in told
    assert Tool.objects.count() == 0
