"""What a process kept on disk is used by the next where it fits, and else written anew."""

from __future__ import annotations

import logging

import pytest
from django.db import connection

from registry.models import Tool
from registry.search import shelf as shelf_module
from registry.search import stored
from registry.search.reader import Progress, Reader
from registry.search.shelf import Shelf
from registry.services import tool_delete
from tests.factories import make_builtin, make_tool
from tests.live import eventually
from tests.registry.search.following import following, found_in

pytestmark = pytest.mark.django_db(transaction=True)

NEED = "send a postcard"


@pytest.fixture
def postcard():
    make_builtin("calculator")
    examples = {"examples": ["Greet my aunt from Rome"], "limitations": "No parcels."}
    return make_tool(title="Send a postcard", description=NEED, ai_agent=examples)


@pytest.fixture
def shelf(tmp_path, postcard):
    """A shelf that holds the catalogue."""
    shelf = Shelf(tmp_path)
    shelf.keep(read())
    assert shelf.path.exists()
    return Shelf(tmp_path)


def read():
    return Reader.of_all(Progress())


def test_what_was_kept_finds_with_the_same_scores(alice, bob, shelf, postcard, tmp_path):
    def scores(reader):
        from registry.search.need import Need

        need = Need(text="greet an aunt with a postcard", recent=("I am in Rome",))
        return [(each.id, each.score, each.parts) for each in reader.replica.engine.rank(need)]

    kept = shelf.taken()
    assert kept is not None
    assert scores(kept) == scores(read()) != []


def test_what_was_kept_is_brought_up_to_date(bob, shelf, postcard):
    tool_delete(postcard)
    another = make_tool(title="Write a postcard", description=NEED)
    with following(shelf.path.parent) as index:
        assert found_in(index, bob, NEED) == {str(another.pk)}


def test_health_and_quality_of_what_was_kept_can_change(bob, shelf, postcard):
    kept = shelf.taken()
    slot = kept.replica.engine.slot(str(postcard.pk))
    Tool.objects.filter(pk=postcard.pk).update(quality="1.0", execution_health="broken")
    assert kept.catch_up() >= 1  # a transaction of another worker may have a row read twice
    assert kept.replica.engine.slot(str(postcard.pk)) == slot


def test_a_tool_put_into_what_was_kept_is_found(bob, shelf, postcard):
    kept = shelf.taken()
    tools = [make_tool(title=f"Postcard {n}", description=NEED) for n in range(30)]
    Tool.objects.filter(pk=postcard.pk).update(description="Adds numbers.", title="Add")
    kept.catch_up()
    from registry.search.need import Need

    found = {each.id for each in kept.replica.engine.rank(Need(text=NEED))}
    assert found == {str(tool.pk) for tool in tools}


@pytest.mark.parametrize("spoil", ["cut", "foreign", "empty", "another version"])
def test_a_file_that_does_not_fit_is_told_of_and_written_anew(
    bob, shelf, postcard, spoil, monkeypatch, caplog
):
    data = shelf.path.read_bytes()
    match spoil:
        case "cut":
            shelf.path.write_bytes(data[: len(data) // 2])
        case "foreign":
            shelf.path.write_bytes(b"PK\x03\x04" * 100)
        case "empty":
            shelf.path.write_bytes(b"")
        case _:
            monkeypatch.setattr(stored, "code_digest", lambda: "of another version")
    spoiled = shelf.path.read_bytes()
    with caplog.at_level(logging.WARNING), following(shelf.path.parent) as index:
        assert found_in(index, bob, NEED) == {str(postcard.pk)}
        eventually(lambda: shelf.path.read_bytes() != spoiled, seconds=5)
    assert "is not used, and written anew" in caplog.text


def test_a_file_of_tables_that_were_written_anew_is_not_used(bob, shelf, postcard):
    with connection.cursor() as cursor:
        cursor.execute("VACUUM FULL registry_tool")
    assert shelf.taken() is None


def test_a_file_of_another_cluster_is_not_used(shelf, monkeypatch):
    monkeypatch.setattr(shelf_module, "cluster_of", lambda _: "another")
    assert shelf.taken() is None


def test_nothing_is_kept_where_the_server_does_not_say_who_it_is(tmp_path, postcard, monkeypatch):
    monkeypatch.setattr(shelf_module, "cluster_of", lambda _: "")
    shelf = Shelf(tmp_path)
    shelf.keep(read())
    assert not shelf.path.exists()


def test_a_file_from_which_rows_have_vanished_since_is_not_used(bob, shelf, postcard):
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("DELETE FROM registry_tool WHERE id = %s", [postcard.pk])
        cursor.execute("SET session_replication_role = DEFAULT")
    with following(shelf.path.parent) as index:
        assert found_in(index, bob, NEED) == set()
        assert len(index) == 1


def test_a_file_that_another_process_is_writing_is_left_to_it(shelf):
    with shelf._claimed() as ours, Shelf(shelf.path.parent)._claimed() as theirs:
        assert (ours, theirs) == (True, False)


def test_a_file_is_written_again_only_when_something_changed_and_time_went_by(
    shelf, postcard, monkeypatch
):
    reader = shelf.taken()
    first = shelf.path.stat().st_ino
    make_tool(title="Write a postcard", description=NEED)
    reader.catch_up()
    shelf.keep(reader)
    assert shelf.path.stat().st_ino == first
    monkeypatch.setattr(shelf_module, "KEEP_SECONDS", 0.0)
    shelf.keep(reader)
    assert shelf.path.stat().st_ino != first
    assert len(Shelf(shelf.path.parent).taken().replica) == len(reader.replica)


def test_a_folder_that_cannot_be_written_is_no_problem_for_searches(bob, tmp_path, postcard):
    (tmp_path / "file").write_text("")
    with following(tmp_path / "file" / "folder") as index:
        assert found_in(index, bob, NEED) == {str(postcard.pk)}
