"""The score of a tool: explained, earned by use, and not for sale."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from itertools import product

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from registry.models import HealthChange, QualityDue, Tool
from registry.models.health import ExecutionHealth, Health, state_of
from registry.models.invocation import Caller
from registry.quality.evidence import Evidence, health_of
from registry.quality.scoring import WEIGHTS, quality_of, quality_parts, quality_refresh
from registry.search.service import reset, search
from registry.usage.rolling import usage_roll_up
from tests.factories import make_package, make_tool, make_user
from tests.registry.usage.calls import record

pytestmark = pytest.mark.django_db

EVERYTHING = {
    "description": "Reads the weather of a place and tells temperature, wind, rain and "
    "humidity for today and the coming week in plain words.",
    "input_schema": {
        "type": "object",
        "properties": {
            "place": {"type": "string", "description": "A town.", "maxLength": 80},
            "days": {"type": "integer", "description": "How many.", "minimum": 1, "maximum": 7},
        },
    },
    "output_schema": {"type": "object"},
    "ai_agent": {
        "useCase": "Whenever somebody asks for the weather somewhere.",
        "examples": ["Will it rain in Bern?"] * 50,
        "healthCheck": {"arguments": {"place": "Bern"}},
    },
}
NOTHING = {"description": "x", "input_schema": {"type": "object", "properties": {"a": {}}}}


def part(tool, name):
    return next(part for part in quality_parts(tool) if part.name == name)


def scored(tool):
    """Sum up, score what is due and return the tool's score."""
    usage_roll_up()
    quality_refresh()
    tool.refresh_from_db()
    return tool.quality


def set_health(tool, **fields):
    Tool.objects.filter(pk=tool.pk).update(**fields)


def at_once(tool, state, days_ago):
    """Note that the tool came into a state some days ago."""
    HealthChange.objects.create(
        tool=tool, state=state, at=timezone.now() - timedelta(days=days_ago)
    )


def test_the_weights_make_one_and_what_is_declared_is_a_minor_share():
    assert sum(WEIGHTS.values()) == pytest.approx(1)
    assert WEIGHTS["Documentation"] + WEIGHTS["Input schema"] <= 0.25


def test_declaring_everything_moves_a_tool_by_a_quarter_at_most():
    bare, full = make_tool(**NOTHING), make_tool(**EVERYTHING)
    assert full.quality - bare.quality <= Decimal("0.25")
    assert part(full, "Documentation").share == part(full, "Input schema").share == 1
    assert full.quality < Decimal("0.65"), "a new tool stands in the middle"


def test_more_words_and_declared_examples_and_checks_add_nothing():
    full = make_tool(**EVERYTHING)
    padded = make_tool(
        **{
            **EVERYTHING,
            "description": EVERYTHING["description"] * 40,
            "ai_agent": {**EVERYTHING["ai_agent"], "examples": [], "healthCheck": {}},
        }
    )
    assert padded.quality == full.quality
    repeated = make_tool(**{**EVERYTHING, "description": "weather " * 300})
    assert repeated.quality < full.quality


def test_a_schema_is_judged_by_types_descriptions_and_bounds_at_every_depth():
    shares = []
    for item in (
        {},
        {"type": "string"},
        {"type": "string", "description": "Any text."},
        {"type": "string", "description": "Any text.", "maxLength": 10},
    ):
        nested = {"type": "object", "description": "Wraps it.", "properties": {"in": item}}
        schema = {"type": "object", "properties": {"a": item, "b": nested}}
        shares.append(part(make_tool(input_schema=schema), "Input schema").share)
    assert shares == sorted(shares)
    assert len(set(shares)) == len(shares) - 0
    assert shares[-1] == 1
    assert part(Tool(input_schema={"type": "nonsense"}), "Input schema").share == 0


def test_an_owner_cannot_buy_a_score_by_calling_the_own_tool(alice, bob):
    package = make_package(added_by=bob)
    tool = make_tool(package=package, owner=alice)
    before = scored(tool)
    record(tool, count=500, user=alice, duration_ms=1)
    record(tool, count=500, user=bob, duration_ms=1)
    record(tool, count=500, user=None, duration_ms=1)
    assert scored(tool) == before
    assert part(tool, "Use").share == 0
    assert part(tool, "Success").told == "Nobody but its maker has called it."


def test_the_calls_of_one_person_count_for_so_much_and_no_more(alice, bob):
    tool = make_tool()
    record(tool, count=20, user=alice)
    some = scored(tool)
    record(tool, count=2_000, user=alice)
    assert scored(tool) == some
    for number in range(5):
        record(tool, count=20, user=make_user(f"friend{number}"))
    assert scored(tool) > some
    assert "6 people" in part(tool, "Use").told


def test_few_calls_say_little_and_many_say_much(alice):
    good, new, bad = make_tool(), make_tool(), make_tool()
    record(good, count=1, user=alice)
    record(bad, count=1, user=alice, error_code="tool_crashed")
    usage_roll_up()
    shares = [part(tool, "Success").share for tool in (bad, new, good)]
    assert shares == sorted(shares)
    assert shares[1] == 0.5
    assert 0.4 < shares[0] < 0.5 < shares[2] < 0.6
    for number in range(10):
        person = make_user(f"caller{number}")
        record(good, count=20, user=person)
        record(bad, count=20, user=person, error_code="tool_crashed")
    usage_roll_up()
    assert part(good, "Success").share > 0.95
    assert part(bad, "Success").share < 0.05
    assert part(bad, "Success").advice


@pytest.mark.parametrize(
    "fields",
    [
        {"error_code": "permission_refused", "phase": "permission"},
        {"error_code": "invalid_arguments", "phase": "validate"},
        {"error_code": "input_rejected"},
        {"error_code": "missing_credential", "phase": "load"},
        {"error_code": "upstream_auth"},
        {"error_code": "cancelled"},
        {"caller": Caller.HEALTH, "error_code": "tool_crashed"},
    ],
)
def test_what_is_not_the_tools_fault_is_not_held_against_it(alice, fields):
    tool = make_tool()
    before = part(tool, "Success").share
    record(tool, count=30, user=alice, **fields)
    usage_roll_up()
    assert part(tool, "Success").share == before


def test_slow_answers_cost_speed(alice):
    shares = []
    for milliseconds in (100, 2_000, 60_000):
        tool = make_tool()
        for number in range(5):
            user = make_user(f"waits{milliseconds}of{number}")
            record(tool, count=20, user=user, duration_ms=milliseconds)
        usage_roll_up()
        shares.append(part(tool, "Speed").share)
    assert shares[0] > 0.9 > shares[1] > 0.5 > shares[2]


def test_health_is_the_share_of_the_watched_time_in_which_it_was_well():
    steady, broken, flapping, unknown = (make_tool() for _ in range(4))
    at_once(steady, "healthy", 29)
    at_once(broken, "execution_broken", 29)
    for day in range(28, 0, -1):
        at_once(flapping, "healthy" if day % 2 else "upstream_down", day)
    shares = [part(tool, "Health").share for tool in (steady, flapping, unknown, broken)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.9 and shares[-1] < 0.1
    assert shares[2] == 0.5
    assert "Well for 0 % of the 29 days" in part(broken, "Health").told


def test_a_long_ago_failure_is_forgotten():
    tool = make_tool()
    at_once(tool, "execution_broken", 90)
    at_once(tool, "healthy", 40)
    assert health_of(tool)[0].state == "healthy"
    assert part(tool, "Health").share > 0.9


def test_the_history_of_health_is_written_by_the_database():
    tool = make_tool()
    error = {"code": "tool_crashed", "message": "It crashed."}
    set_health(tool, execution_health=ExecutionHealth.BROKEN, health_error=error)
    set_health(tool, execution_health=ExecutionHealth.BROKEN, health_error=None)
    set_health(tool, execution_health=ExecutionHealth.HEALTHY)
    told = tool.health_changes.order_by("pk").values_list("state", "error_code")
    assert list(told) == [("unknown", ""), ("execution_broken", "tool_crashed"), ("healthy", "")]


def test_the_database_and_the_page_mean_the_same_by_a_state():
    for loads, answers in product(Health.values, ExecutionHealth.values):
        tool = make_tool(import_health=loads, execution_health=answers)
        assert tool.health_changes.get().state == state_of(loads, answers)


def test_a_score_is_written_only_when_it_changes(alice):
    tool, still = make_tool(), make_tool()
    quality_refresh()
    before = Tool.objects.filter(pk=still.pk).values("updated_at", "quality").get()
    for number in range(8):
        record(tool, count=10, user=make_user(f"visitor{number}"))
    usage_roll_up()
    assert set(QualityDue.objects.filter(due_at__lte=timezone.now())) == {
        QualityDue.objects.get(tool=tool)
    }
    with CaptureQueriesContext(connection) as queries:
        assert quality_refresh() == 1
    written = [q["sql"] for q in queries if q["sql"].startswith('UPDATE "registry_tool"')]
    assert len(written) == 1
    assert Tool.objects.filter(pk=still.pk).values("updated_at", "quality").get() == before
    QualityDue.objects.update(due_at=timezone.now())
    with CaptureQueriesContext(connection) as queries:
        quality_refresh()
    assert not [q for q in queries if q["sql"].startswith('UPDATE "registry_tool"')]


def test_scoring_many_tools_takes_no_more_queries_to_read():
    few = [make_tool() for _ in range(2)]
    with CaptureQueriesContext(connection) as for_few:
        quality_refresh()
    for _ in range(6):
        make_tool()
    QualityDue.objects.filter(tool__in=few).update(due_at=timezone.now())
    with CaptureQueriesContext(connection) as for_many:
        quality_refresh()
    assert len(for_many) == len(for_few)


def test_a_deleted_tool_is_scored_no_more():
    tool = make_tool()
    Tool.objects.filter(pk=tool.pk).update(deleted_at=timezone.now())
    assert quality_refresh() == 1
    assert not QualityDue.objects.exists()


def test_the_page_explains_each_part(client_for, alice):
    tool = make_tool()
    page = client_for(alice).get(f"/tools/{tool.pk}/").content.decode()
    for name, weight in WEIGHTS.items():
        assert name in page
        assert f"counts {round(100 * weight)} %" in page
    assert "Nobody but its maker has called it." in page


def test_without_evidence_every_tool_is_scored_alike(alice):
    assert quality_of(make_tool(), Evidence()) == quality_of(make_tool(owner=alice), Evidence())


def test_broken_tools_come_last_in_lists_by_quality_and_by_fit(client_for, alice):
    words = {"description": "Converts currencies such as euro and dollar at the day's rate."}
    best = make_tool(wire_name="convert_currency", title="Convert currency", **words)
    other = make_tool(wire_name="rates", title="Rates", description="Knows currencies.")
    broken = Health.BROKEN
    Tool.objects.filter(pk=best.pk).update(execution_health=broken, quality=Decimal("0.99"))
    for query in ("sort=quality", "q=convert+currency"):
        listed = client_for(alice).get(f"/api/v1/tools/?{query}").json()["results"]
        assert [tool["name"] for tool in listed] == [other.wire_name, best.wire_name], query
    page = client_for(alice).get("/tools/?sort=quality").content.decode()
    assert page.index("Rates") < page.index("Convert currency")


def test_a_broken_tool_is_never_injected_however_good_it_was(alice):
    tool = make_tool(
        wire_name="convert_currency", description="Converts currencies such as euro and dollar."
    )
    assert [hit.wire_name for hit in search("convert currencies", user=alice).found]
    Tool.objects.filter(pk=tool.pk).update(import_health=Health.BROKEN, quality=1)
    reset()
    answer = search("convert currencies", user=alice)
    assert answer.found == ()
    assert [hit.reason for hit in answer.hits] == ["broken"]
