"""The catalogue follows what this release has built in."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.management import call_command
from django.db import connection

from registry.builtins import BUILTINS
from registry.importing.builtins import builtins_sync
from registry.models import Package, Tool, ToolVersion
from registry.models.package import ReviewStatus
from registry.models.tool import Health, Visibility
from tests.factories import make_sequence, make_tool


@pytest.mark.django_db
def test_every_builtin_becomes_a_public_healthy_approved_tool():
    changed = builtins_sync()

    tools = Tool.objects.all()
    assert len(changed) == len(tools) == len(BUILTINS) + 1  # and the running of code
    for tool in tools:
        assert tool.wire_name == tool.export_name
        assert tool.visibility == Visibility.PUBLIC
        assert tool.review_status == ReviewStatus.APPROVED
        assert tool.import_health == Health.HEALTHY
    assert Package.objects.get().name == "outfitter"


@pytest.mark.django_db
def test_a_second_sync_writes_nothing(django_assert_max_num_queries):
    builtins_sync()
    with django_assert_max_num_queries(8):
        assert builtins_sync() == []
    assert ToolVersion.objects.count() == len(BUILTINS) + 1


@pytest.mark.django_db
def test_a_deployment_brings_them_by_a_command(capsys):
    call_command("sync_builtins")
    assert capsys.readouterr().out == f"Built-in tools: {len(BUILTINS) + 1} changed.\n"
    call_command("sync_builtins")
    assert capsys.readouterr().out == "Built-in tools: 0 changed.\n"
    assert Tool.objects.filter(wire_name="calculator").exists()


@pytest.mark.django_db
def test_a_changed_builtin_gets_a_new_version_and_keeps_its_review():
    builtins_sync()
    Tool.objects.filter(wire_name="calculator").update(
        description="Of an older release.", review_status=ReviewStatus.QUARANTINED
    )

    (changed,) = builtins_sync()
    assert changed.description == BUILTINS["calculator"].description
    changed.refresh_from_db()
    assert changed.review_status == ReviewStatus.QUARANTINED


@pytest.mark.django_db
def test_a_builtin_that_is_no_more_is_taken_out_and_can_come_back():
    builtins_sync()
    package = Package.objects.get()
    gone = make_tool(package=package, kind="builtin", export_name="gone", wire_name="gone")
    Tool.objects.filter(wire_name="calculator").update(deleted_at="2026-01-01T00:00Z")

    assert {tool.wire_name for tool in builtins_sync()} == {"gone", "calculator"}
    gone.refresh_from_db()
    assert gone.deleted_at
    assert Tool.objects.get(wire_name="calculator").deleted_at is None


@pytest.mark.django_db
def test_a_wire_name_that_a_person_took_first_is_not_taken_away(alice):
    make_sequence(alice, wire_name="current_time", definition={"format": 1, "steps": []})
    builtins_sync()

    tool = Tool.objects.get(kind="builtin", export_name="current_time")
    assert tool.wire_name.startswith("current_time-")


@pytest.mark.django_db(transaction=True)
def test_two_syncs_at_once_make_each_tool_once():
    def sync(_):
        try:
            return len(builtins_sync())
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(sync, range(2))) == [0, len(BUILTINS) + 1]
    assert Tool.objects.filter(kind="builtin").count() == len(BUILTINS)
