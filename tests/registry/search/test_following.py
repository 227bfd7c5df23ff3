"""The index of a process soon hears of every change, whoever makes it and however.

It is mostly there within a tenth of a second; how long a busy machine takes is not judged here.
"""

from __future__ import annotations

import threading
from datetime import timedelta

import psycopg
import pytest
from django.db import connection, transaction
from django.utils import timezone
from django.utils.timezone import localdate

from registry.changes import ChangeFeed
from registry.models import Package, Tool
from registry.models.health import ExecutionHealth, Health
from registry.models.package import ReviewStatus
from registry.models.tool import Visibility
from registry.search import index as index_module
from registry.search import service
from registry.search.deadline import Deadline
from registry.search.reader import Progress, Reader
from registry.search.service import search
from registry.services import package_review, tool_delete, tool_publish, tool_review
from registry.stopping import package_resume, package_stop, tool_resume, tool_stop
from tests.factories import make_builtin, make_package, make_sequence, make_team, make_tool
from tests.live import eventually
from tests.registry.search.following import elsewhere, following, found_in

pytestmark = pytest.mark.django_db(transaction=True)

NEED = "send a postcard"


@pytest.fixture
def index():
    """An index that nobody reads by itself for a long time: only what it hears of is found."""
    with following() as index:
        yield index


@pytest.fixture
def postcard(alice):
    make_builtin("calculator")
    return make_tool(
        wire_name="send_postcard",
        title="Send a postcard",
        description="Sends a postcard to a friend.",
        package=make_package(name="@acme/mail", added_by=alice),
    )


def save(item, **fields):
    type(item).objects.filter(pk=item.pk).update(**fields)


def another_connection():
    parameters = connection.get_connection_params()
    apart = ("pool", "cursor_factory", "context")
    return psycopg.connect(**{k: value for k, value in parameters.items() if k not in apart})


def publish(tool, **fields):
    fresh = Tool.objects.get(pk=tool.pk)
    for name, value in fields.items():
        setattr(fresh, name, value)
    tool_publish(fresh, author=None)


LEAVES = {
    "deleted": tool_delete,
    "quarantined": lambda tool: tool_review(tool, status=ReviewStatus.QUARANTINED),
    "broken": lambda tool: save(tool, execution_health=ExecutionHealth.BROKEN),
    "down": lambda tool: save(
        tool,
        execution_health=ExecutionHealth.UPSTREAM_DOWN,
        last_health_check_at=timezone.now(),
    ),
    "stopped": lambda tool: tool_stop(tool, by=None, reason="It leaks."),
    "retired": lambda tool: save(tool, deprecated_on=localdate()),
    "private": lambda tool: save(tool, visibility=Visibility.PRIVATE, owner=tool.package.added_by),
    "with its package refused": lambda tool: package_review(
        tool.package, status=ReviewStatus.REJECTED
    ),
    "with its package stopped": lambda tool: package_stop(
        tool.package, by=None, reason="It leaks."
    ),
    "edited": lambda tool: publish(tool, wire_name="x", title="Add", description="Adds numbers."),
}


@pytest.mark.parametrize("change", LEAVES.values(), ids=LEAVES)
def test_what_is_no_longer_to_be_found_is_gone_soon(bob, index, postcard, change):
    assert found_in(index, bob, NEED) == {str(postcard.pk)}
    elsewhere(change, postcard)
    eventually(lambda: not found_in(index, bob, NEED))


COMES = {
    "approved": (
        {"review_status": ReviewStatus.CANDIDATE},
        lambda tool: tool_review(tool, status=ReviewStatus.APPROVED),
    ),
    "healed": (
        {"execution_health": ExecutionHealth.BROKEN},
        lambda tool: save(tool, execution_health=Health.HEALTHY),
    ),
    "edited": (
        {"title": "Add", "description": "Adds numbers.", "wire_name": "adds"},
        lambda tool: publish(tool, title="Send a postcard", description=NEED),
    ),
    "deprecated no more": (
        {"deprecated_on": timezone.now().date()},
        lambda tool: save(tool, deprecated_on=None),
    ),
    "undeleted": (
        {"deleted_at": timezone.now()},
        lambda tool: save(tool, deleted_at=None),
    ),
    "of a package that is approved": (
        {"of": {"review_status": ReviewStatus.CANDIDATE}},
        lambda tool: package_review(tool.package, status=ReviewStatus.APPROVED),
    ),
    "of a package that goes on": (
        {"of": {"stopped_at": timezone.now(), "stopped_reason": "It leaks."}},
        lambda tool: package_resume(tool.package, by=None, reason="Mended."),
    ),
    "resumed": (
        {"stopped_at": timezone.now(), "stopped_reason": "It leaks."},
        lambda tool: tool_resume(tool, by=None, reason="Mended."),
    ),
}


@pytest.mark.parametrize(("fields", "change"), COMES.values(), ids=COMES)
def test_what_is_to_be_found_from_now_on_is_found_soon(bob, index, fields, change):
    make_builtin("calculator")
    values = {"wire_name": "mail", "title": "Send a postcard", "description": NEED}
    of = fields.get("of", {})
    values |= {name: value for name, value in fields.items() if name != "of"}
    tool = make_tool(package=make_package(**of), **values)
    assert found_in(index, bob, NEED) == set()
    elsewhere(change, tool)
    eventually(lambda: found_in(index, bob, NEED) == {str(tool.pk)})


def test_a_tool_that_is_registered_elsewhere_is_found_soon(bob, index):
    make_builtin("calculator")
    assert found_in(index, bob, NEED) == set()
    tool = elsewhere(make_tool, title="Send a postcard", description=NEED)
    eventually(lambda: found_in(index, bob, NEED) == {str(tool.pk)})


def test_who_joins_a_team_finds_what_it_shares_at_once_and_who_leaves_no_more(
    alice, bob, index, postcard
):
    team = make_team("writers", alice)
    tool = make_sequence(
        alice, title="Send a postcard", description=NEED, visibility=Visibility.TEAM, team=team
    )
    assert str(tool.pk) not in found_in(index, bob, NEED)
    elsewhere(bob.groups.add, team)
    assert str(tool.pk) in found_in(index, bob, NEED)
    elsewhere(bob.groups.remove, team)
    assert str(tool.pk) not in found_in(index, bob, NEED)


def test_transactions_that_end_in_another_order_than_they_began_are_all_found(bob, index):
    """The one that began first and wrote first ends last: its number is below what was read."""
    make_builtin("calculator")
    slow, quick = (make_tool(title=word, description=word) for word in ("Add", "Subtract"))
    assert found_in(index, bob, NEED) == set()
    update = "UPDATE registry_tool SET description = %s WHERE id = %s"
    with another_connection() as first:
        first.execute(update, ["send a postcard slowly", slow.pk])
        elsewhere(save, quick, description="send a postcard quickly")
        eventually(lambda: found_in(index, bob, NEED) == {str(quick.pk)})
        elsewhere(save, quick, title="Postcard")
        first.commit()
    both = {str(slow.pk), str(quick.pk)}
    eventually(lambda: found_in(index, bob, NEED) == both)


def test_while_a_long_transaction_runs_nothing_is_read_twice(bob, postcard):
    reader = Reader.of_all(Progress())
    with another_connection() as long:
        long.execute("UPDATE registry_package SET version = '2'")
        reader.catch_up()
        elsewhere(save, postcard, description="Adds numbers.")
        assert reader.catch_up() == 1
        assert reader.catch_up() == 0
        elsewhere(save, postcard, description="Subtracts numbers.")
        assert reader.catch_up() == 1
        long.rollback()


def test_a_change_whose_notification_was_lost_is_found_at_the_next_look(bob, postcard, monkeypatch):
    monkeypatch.setattr(index_module, "feed", ChangeFeedThatIsDeaf())
    monkeypatch.setattr(index_module, "LOOK_SECONDS", 0.2)
    with following() as index:
        assert found_in(index, bob, NEED)
        elsewhere(tool_delete, postcard)
        eventually(lambda: not found_in(index, bob, NEED))


class ChangeFeedThatIsDeaf(ChangeFeed):
    def follow(self, channel, heard):
        return super().follow("another_channel", lambda _: None)


def test_what_a_call_moves_is_not_read_again(bob, index, postcard):
    assert found_in(index, bob, NEED)
    before = Tool.objects.get(pk=postcard.pk).search_xid
    save(postcard, last_health_check_at=timezone.now(), health_error={"code": "x"})
    save(postcard, timeout_seconds=7)
    assert Tool.objects.get(pk=postcard.pk).search_xid == before
    save(postcard, execution_health=ExecutionHealth.UPSTREAM_DOWN)
    down = Tool.objects.get(pk=postcard.pk).search_xid
    save(postcard, last_health_check_at=timezone.now() + timedelta(seconds=1))
    assert before < down < Tool.objects.get(pk=postcard.pk).search_xid


def test_nobody_writes_the_number_of_the_transaction_by_hand(postcard):
    before = Tool.objects.get(pk=postcard.pk).search_xid
    save(postcard, search_xid=1)
    Package.objects.filter(pk=postcard.package_id).update(search_xid=1)
    assert Tool.objects.get(pk=postcard.pk).search_xid == before
    assert Package.objects.get(pk=postcard.package_id).search_xid > 1


def test_health_and_quality_leave_the_words_as_they_were_read(bob, postcard):
    reader = Reader.of_all(Progress())
    slot = reader.replica.engine.slot(str(postcard.pk))
    save(postcard, quality="0.9", execution_health=ExecutionHealth.BROKEN)
    # more than this one where a transaction elsewhere in the cluster is open: it reads from there
    assert reader.catch_up() >= 1
    assert reader.replica.engine.slot(str(postcard.pk)) == slot
    save(postcard, description="Sends two postcards.")
    assert reader.catch_up() >= 1
    assert reader.replica.engine.slot(str(postcard.pk)) != slot


def test_an_index_in_which_much_changed_is_compacted_and_finds_the_same(
    bob, index, postcard, monkeypatch
):
    monkeypatch.setattr("registry.search.replica.LEAST_SLACK", 2)
    assert found_in(index, bob, NEED)
    for number in range(4):
        elsewhere(save, postcard, description=f"Sends {number} postcards.")
        seen = size_of(index)
        eventually(lambda seen=seen: size_of(index) != seen)
    eventually(lambda: size_of(index) == 2)
    assert found_in(index, bob, NEED) == {str(postcard.pk)}
    elsewhere(save, postcard, execution_health=ExecutionHealth.BROKEN)
    eventually(lambda: not found_in(index, bob, NEED))


def size_of(index):
    return index.using(lambda replica: replica.engine.size, Deadline())


def test_searches_go_on_with_the_old_index_while_a_new_one_is_read(
    bob, index, postcard, monkeypatch
):
    assert found_in(index, bob, NEED)
    begun, end, done = threading.Event(), threading.Event(), threading.Event()
    of_all = Reader.of_all.__func__

    def slow(cls, progress, **options):
        begun.set()
        end.wait(60)
        done.set()
        return of_all(cls, progress, **options)

    monkeypatch.setattr(Reader, "of_all", classmethod(slow))
    monkeypatch.setattr("registry.search.reader.LEAST_CHANGED", 0)
    elsewhere(make_tool, title="Write a postcard", description="Writes a postcard.")
    assert begun.wait(60)
    assert found_in(index, bob, NEED) == {str(postcard.pk)}
    assert not done.is_set(), "the search did not wait for the reading"
    end.set()
    eventually(lambda: len(found_in(index, bob, NEED)) == 2)


def test_tables_that_are_emptied_and_filled_anew_are_read_anew(bob, index, postcard):
    assert found_in(index, bob, NEED)

    def refill():
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE registry_tool CASCADE")
        make_tool(wire_name="another", title="Send a postcard", description=NEED)

    elsewhere(refill)
    eventually(lambda: str(postcard.pk) not in found_in(index, bob, NEED))
    assert len(found_in(index, bob, NEED)) == 1


def test_a_row_that_leaves_no_trace_is_noticed_by_counting(bob, postcard, monkeypatch):
    monkeypatch.setattr(index_module, "COUNT_SECONDS", 0.0)
    with following() as index:
        assert len(found_in(index, bob, NEED)) == 1
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute("DELETE FROM registry_tool WHERE id = %s", [postcard.pk])
        index.look()
        eventually(lambda: not found_in(index, bob, NEED))


def test_a_database_that_cannot_be_read_for_a_while_is_read_when_it_can(
    bob, index, postcard, monkeypatch
):
    from django.db import OperationalError

    assert found_in(index, bob, NEED)
    monkeypatch.setattr(index_module, "RETRY_SECONDS", 0.1)
    catch_up, failed = Reader.catch_up, []

    def fails_first(reader, *args):
        if len(failed) < 2:
            failed.append(1)
            raise OperationalError("gone")
        return catch_up(reader, *args)

    monkeypatch.setattr(Reader, "catch_up", fails_first)
    elsewhere(tool_delete, postcard)
    eventually(lambda: not found_in(index, bob, NEED))
    assert len(failed) == 2


def test_what_an_outdated_index_finds_is_given_to_nobody(alice, bob, postcard, monkeypatch):
    """The database is asked once more: an index that hears of nothing leaks nothing."""
    monkeypatch.setattr(index_module, "feed", ChangeFeedThatIsDeaf())
    mine = make_sequence(alice, title="Send a postcard", description=NEED)
    with following() as index:
        monkeypatch.setattr(service, "process_index", index)
        save(mine, visibility=Visibility.PUBLIC, review_status=ReviewStatus.APPROVED)
        assert {hit.tool_id for hit in search(NEED, user=bob).hits} == {postcard.pk, mine.pk}
        save(mine, visibility=Visibility.PRIVATE)
        assert str(mine.pk) in found_in(index, bob, NEED)
        assert {hit.tool_id for hit in search(NEED, user=bob).hits} == {postcard.pk}
        save(postcard, review_status=ReviewStatus.QUARANTINED)
        assert search(NEED, user=bob).hits == ()


def test_a_hundred_better_matches_that_are_not_for_a_person_do_not_hide_the_one_that_is(
    alice, charlie
):
    make_builtin("calculator")
    for number in range(130):
        make_sequence(alice, title=f"Send a postcard {number}", description=NEED)
    tool = make_tool(title="Postcards", description="Prints a long text on a card and sends it.")
    hits = search(NEED, user=charlie).hits
    assert [hit.tool_id for hit in hits] == [tool.pk]


def test_a_hundred_better_matches_that_are_broken_do_not_hide_the_one_that_works(charlie):
    make_builtin("calculator")
    for number in range(130):
        make_tool(
            title=f"Send a postcard {number}",
            description=NEED,
            execution_health=ExecutionHealth.BROKEN,
        )
    tool = make_tool(title="Postcards", description="Prints a long text on a card and sends it.")
    answer = search(NEED, user=charlie, floor=0.0)
    assert [hit.tool_id for hit in answer.found] == [tool.pk]
    assert "broken" in {hit.reason for hit in answer.hits}
