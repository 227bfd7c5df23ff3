"""Who may find what is a mask: every fact of a tool narrows by a column of its own."""

from datetime import date

import numpy as np
import pytest

from registry.models.health import HealthState, in_state
from registry.search.columns import Columns
from registry.search.facts import (
    BROKEN,
    WELL,
    Audience,
    Circumstances,
    Facts,
    Narrowing,
    states_named,
)

TODAY = date(2026, 11, 22)
ANYBODY = Audience(person=9)
NOW = Circumstances(today=TODAY)
EVERYTHING = Narrowing()


def columns_of(*facts):
    columns = Columns()
    for slot, each in enumerate(facts):
        columns.put(slot, each)
    return columns


def masks(columns, audience=ANYBODY, narrowing=EVERYTHING, now=NOW, down_since=0.0):
    return columns.masks(audience, narrowing, now, down_since=down_since)


def visible(columns, *args, **options):
    return np.flatnonzero(masks(columns, *args, **options).visible).tolist()


def fit(columns, *args, **options):
    return np.flatnonzero(masks(columns, *args, **options).fit).tolist()


def test_a_tool_is_seen_by_its_owner_whoever_added_its_package_its_team_or_all():
    columns = columns_of(
        Facts(is_open=False, owner=1),
        Facts(is_open=False, adder=2),
        Facts(is_open=False, owner=1, team=5),
        Facts(is_open=True),
        Facts(is_open=False),
    )
    assert visible(columns, Audience(person=1)) == [0, 2, 3]
    assert visible(columns, Audience(person=2)) == [1, 3]
    assert visible(columns, Audience(person=3, teams=frozenset({5, 6}))) == [2, 3]
    assert visible(columns, Audience(person=4)) == [3]


@pytest.mark.parametrize("name", ["kind", "category", "package"])
def test_a_search_is_narrowed_by_one_value(name):
    columns = columns_of(Facts(**{name: "a"}), Facts(**{name: "b"}), Facts())
    assert visible(columns, narrowing=Narrowing(**{name: "b"})) == [1]
    assert visible(columns, narrowing=Narrowing(**{name: "c"})) == []
    assert visible(columns) == [0, 1, 2]


@pytest.mark.parametrize("state", [*HealthState.values, "broken", "unwell", "no such state"])
def test_a_health_filter_means_the_same_in_the_index_and_in_the_database(db, state):
    from registry.models import Tool
    from registry.search.catalogue import facts_of
    from tests.factories import make_tool

    for loads in ("healthy", "broken", "unknown"):
        for answers in ("healthy", "broken", "needs_sign_in", "needs_key", "upstream_down"):
            make_tool(import_health=loads, execution_health=answers)
    make_tool(import_health="unknown", execution_health="unknown")
    tools = list(Tool.objects.order_by("pk"))
    columns = columns_of(*map(facts_of, tools))
    wanted = set(Tool.objects.filter(in_state(state)).values_list("pk", flat=True))

    assert {tools[n].pk for n in visible(columns, narrowing=Narrowing(health=state))} == wanted


def test_the_states_are_those_that_the_models_know():
    assert {*BROKEN, *WELL, *states_named("unwell")} == set(HealthState.values)


def test_what_is_broken_retired_or_lacks_a_scope_is_seen_and_not_fit():
    columns = columns_of(
        Facts(state="import_broken"),
        Facts(state="needs_key"),
        Facts(retired_on=TODAY),
        Facts(retired_on=date(2026, 11, 23)),
        Facts(scopes=("mail.send", "mail.read")),
    )
    assert visible(columns) == [0, 1, 2, 3, 4]
    assert fit(columns) == [1, 3, 4]
    for scopes, expected in (({"mail.read"}, [1, 3]), ({"mail.read", "mail.send"}, [1, 3, 4])):
        now = Circumstances(today=TODAY, scopes=frozenset(scopes))
        assert fit(columns, now=now) == expected


def test_a_tool_whose_service_was_down_just_now_rests():
    columns = columns_of(Facts(state="upstream_down", down_at=1000.0), Facts())
    assert fit(columns, down_since=900.0) == [1]
    assert fit(columns, down_since=1100.0) == [0, 1]
    assert visible(columns, down_since=900.0) == [0, 1]


def test_a_mask_is_made_once_until_something_changes():
    columns = columns_of(Facts(), Facts(is_open=False))
    first = masks(columns)
    assert masks(columns) is first
    columns.put(1, Facts(is_open=True))
    assert visible(columns) == [0, 1]


def test_columns_grow_move_and_come_back_from_arrays():
    columns = columns_of(*(Facts(category=f"c{n}", scopes=(f"s{n}",)) for n in range(40)))
    slots = np.full(40, -1, dtype=np.int32)
    slots[30], slots[3] = 0, 1
    back = Columns.from_arrays(*columns.moved(slots, 2).arrays())
    assert visible(back) == [0, 1]
    assert visible(back, narrowing=Narrowing(category="c30")) == [0]
    back.put(2, Facts(category="new", text=7))
    assert visible(back, narrowing=Narrowing(category="new")) == [2]
    assert back.text_of(2) == 7
    assert fit(back, now=Circumstances(today=TODAY, scopes=frozenset({"s3"}))) == [1, 2]


def test_empty_columns_come_back_and_can_be_written():
    back = Columns.from_arrays(*Columns().arrays())
    back.put(0, Facts())
    assert visible(back) == [0]
