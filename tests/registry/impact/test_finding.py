"""All that uses a tool is found, in few queries, by an index."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection

from registry.impact.finding import impact_of
from registry.impact.parts import MOST_LISTED
from registry.impact.picture import picture_of
from registry.models import Invocation, Tool, ToolVersion
from sequences.callers import earlier_callers, live_callers
from tests import factories
from tests.registry.impact.workshop import changed, link, make_search, searching

QUERIES = 16
"""However many use the tool."""


@pytest.fixture
def search(db: None) -> Tool:
    return make_search()


def test_a_tool_that_nothing_uses(alice: User, search: Tool) -> None:
    impact = impact_of([search.pk], user=alice, gone=True)
    assert impact.is_empty and not impact.breaks
    assert picture_of(impact) is None


def test_the_number_of_queries_does_not_grow(
    alice: User, search: Tool, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    for number in range(50):
        sequence = searching(alice, search, title=f"Sequence {number}")
        agent = factories.make_agent(alice, sequence)
        link(agent, search, config={"limit": 20}, pinned_version=number % 2 or None)
    with django_assert_max_num_queries(QUERIES):
        impact = changed(search, alice, input_schema={"type": "object", "required": ["region"]})
    assert (len(impact.sequences), len(impact.agents)) == (50, 50)
    assert sum(item.breaks for item in impact.sequences) == 50


def test_calls_are_counted_without_health_checks(alice: User, search: Tool) -> None:
    for caller in ("chat", "rest", "health"):
        Invocation.objects.create(
            tool=search,
            tool_version=1,
            caller=caller,
            outcome="succeeded",
            phase="execute",
            arguments={},
            duration_ms=1,
        )
    assert impact_of([search.pk], user=alice, gone=True).calls == 2


def test_of_very_many_the_first_are_looked_at_and_the_rest_is_said(
    alice: User, search: Tool
) -> None:
    _many_sequences(searching(alice, search), MOST_LISTED + 5, f"'{search.pk}'")
    impact = impact_of([search.pk], user=alice, gone=True)
    assert len(impact.sequences) == MOST_LISTED and impact.more
    assert picture_of(impact) is None


def test_callers_are_found_by_an_index_among_20_000_sequences(alice: User, search: Tool) -> None:
    own = searching(alice, search)
    _many_sequences(own, 20_000, "md5((n / 10)::text)::uuid::text")
    assert [tool.pk for tool in live_callers([search.pk])] == [own.pk]
    several = [search.pk, *(uuid4() for _ in range(100))]
    for ids in ([search.pk], several):
        assert "Index Scan on tool_called_tools" in live_callers(ids).explain()
        assert "Index Scan on tool_version_called_tools" in earlier_callers(ids).explain()


def test_the_picture_leads_from_the_tool_to_the_agents(alice: User, search: Tool) -> None:
    sequence = searching(alice, search, title="Weekly")
    factories.make_agent(alice, sequence, search, name="Ada")
    pinned = searching(alice, search, title="Pinned", step={"toolVersion": 1})
    picture = picture_of(changed(search, alice, input_schema={"type": "array", "required": ["x"]}))
    assert picture is not None
    columns = {box.x: set() for box in picture.boxes}
    for box in picture.boxes:
        columns[box.x].add((box.name, box.state))
    assert list(columns.values()) == [
        {("search", "is-info")},
        {("Weekly", "is-broken"), (pinned.title, "is-kept")},
        {("Ada", "is-broken")},
    ]
    assert len(picture.lines) == 4


def _many_sequences(pattern: Tool, number: int, called: str) -> None:
    """Copy a sequence and its version; `called` is SQL for the tool that the copy `n` calls."""
    definition = f"""jsonb_build_object('format', 1, 'steps', jsonb_build_array(
        jsonb_build_object('stepNumber', 1, 'toolToRunId', {called})))"""
    told = {
        "registry_tool": {
            "id": "gen_random_uuid()",
            "wire_name": "'many_' || n",
            "definition": definition,
        },
        "registry_toolversion": {
            "id": "gen_random_uuid()",
            "number": "n + 1",
            "snapshot": f"jsonb_build_object('kind', 'sequence', 'definition', {definition})",
        },
    }
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # a NOTIFY each takes long
        for model, key in ((Tool, "id"), (ToolVersion, "tool_id")):
            table = model._meta.db_table
            columns = [field.column for field in model._meta.concrete_fields]
            values = ", ".join(told[table].get(column, column) for column in columns)
            cursor.execute(
                f"INSERT INTO {table} ({', '.join(columns)}) "  # noqa: S608
                f"SELECT {values} FROM {table}, generate_series(1, %s) n WHERE {key} = %s",
                [number, pattern.pk],
            )
        cursor.execute("SET LOCAL session_replication_role = origin")
        cursor.execute("ANALYZE registry_tool, registry_toolversion")
