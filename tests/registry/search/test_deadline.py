"""A search ends in time, whatever holds it up, and what it had done by then is kept."""

import threading

import pytest
from django.db import connection

from registry.errors import SearchTimeout
from registry.search import service
from registry.search.deadline import Deadline
from registry.search.need import Need
from registry.search.service import SearchIndex, search
from tests.factories import make_builtin, make_tool

pytestmark = pytest.mark.django_db


def test_a_search_that_is_out_of_time_says_so_and_what_to_do(alice, monkeypatch):
    make_builtin()
    monkeypatch.setattr(service, "Deadline", lambda: Deadline(0))

    with pytest.raises(SearchTimeout) as late:
        search("calculate", user=alice)

    told = late.value.as_dict()
    assert (told["code"], told["extra"]["phase"]) == ("search_timeout", "search")
    assert "longer than 0 seconds" in told["message"]
    assert told["hint"]


def test_a_busy_index_is_not_waited_for_longer_than_a_search_may_take():
    lock = threading.Lock()
    with lock, pytest.raises(SearchTimeout), Deadline(0.01).holding(lock):
        raise AssertionError("held")


def test_postgresql_stops_a_query_that_takes_too_long_and_forgets_the_limit(db):
    with (
        pytest.raises(SearchTimeout),
        Deadline(0.05).querying(),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT pg_sleep(30)")

    with Deadline(5).querying():
        pass
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('statement_timeout')")
        assert cursor.fetchone() == ("0",)


def test_a_catalogue_that_takes_long_to_read_is_read_on_by_the_next_search(alice, monkeypatch):
    tools = [make_tool(title=f"Paint {number}", description="Paints a wall.") for number in (1, 2)]
    monkeypatch.setattr(service, "PAGE", 1)
    index = SearchIndex()

    class OnePage(Deadline):
        def check(self):
            if index._reading and len(index._reading.documents) == 1:
                raise SearchTimeout("Out of time.")

    try:
        with pytest.raises(SearchTimeout):
            index.candidates(Need(text="paint"), OnePage())
        assert len(index) == 0
        found = index.candidates(Need(text="paint"), Deadline())
    finally:
        index.reset()
    assert {ranked.id for ranked, _ in found} == {str(tool.pk) for tool in tools}
