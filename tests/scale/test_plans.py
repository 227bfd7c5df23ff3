"""No page reads a table from end to end that grows with use: kept by EXPLAIN, not by a clock."""

import pytest
from django.core.management import call_command

from config.management.scale import Sizes, fill
from tests.scale.jobs import JOBS
from tests.scale.pages import (
    Asked,
    asked_by,
    asked_by_job,
    changelists,
    narrowed,
    people,
    visits,
)

SIZES = Sizes(tools=20_000, invocations=100_000, turns=15_000, runs=80_000)
MOST_ROWS = 16_000
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


OF_SITE = {f"/usage/?period={period}" for period in ("30d", "90d", "90d&format=csv")}
MOST_ROWS_OF_SITE = 300_000
"""The ranking of a whole site over months reads the day sums of every tool that was called."""


@pytest.mark.parametrize(("who", "path"), list(visits()))
def test_a_page_reads_no_more_rows_than_it_shows_by_far(filled, who, path):
    of_site = who == "governor" and path in OF_SITE
    most = MOST_ROWS_OF_SITE if of_site else MOST_ROWS
    assert not greedy(asked_by(filled[who], path), most)


@pytest.mark.parametrize("path", changelists())
def test_a_list_of_the_admin_and_its_filters_read_few_rows(filled, path):
    governor = filled["governor"]
    for narrow in (path, *narrowed(governor, path)):
        assert not greedy(asked_by(governor, narrow)), narrow


@pytest.mark.parametrize("name", list(JOBS))
def test_a_batch_of_a_job_reads_few_rows(filled, name):
    assert not greedy(asked_by_job(JOBS[name]))


def greedy(asked: list[Asked], most: int = MOST_ROWS) -> str:
    """Return the queries that read more rows than they may."""
    return "\n".join(
        f"{one.rows} rows, all of {one.scans}: {one.sql}" for one in asked if one.rows > most
    )
