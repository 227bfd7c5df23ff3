"""No page reads a table from end to end that grows with use: kept by EXPLAIN, not by a clock."""

import pytest
from django.core.management import call_command

from config.management.scale import Sizes, fill
from tests.scale.pages import asked_by, people, visits

SIZES = Sizes(tools=20_000, invocations=100_000, turns=15_000, runs=10_000)
MOST_ROWS = 12_000
"""Rows that one query may read: far fewer than there are, so that ten times as many tools and
calls do not make it ten times as slow."""

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("scale")]


@pytest.fixture(scope="module")
def filled(django_db_setup, django_db_blocker):
    """A database as full as a test can wait for; emptied for the tests that follow."""
    with django_db_blocker.unblock():
        for _ in fill(SIZES):
            pass
        yield people()
        call_command("flush", interactive=False, verbosity=0)


@pytest.mark.parametrize(("who", "path"), list(visits()))
def test_a_page_reads_no_more_rows_than_it_shows_by_far(filled, who, path):
    asked = asked_by(filled[who], path)
    greedy = [
        f"{one.rows} rows, all of {one.scans}: {one.sql}" for one in asked if one.rows > MOST_ROWS
    ]
    assert not greedy, "\n".join(greedy)
