"""The page, the CSV and the API of a tool's use: what each person is shown."""

from __future__ import annotations

import csv
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from registry.models.tool import Visibility
from registry.usage.periods import NAMES
from tests.factories import make_package, make_sequence, make_tool
from tests.registry.usage.calls import record

pytestmark = pytest.mark.django_db


@pytest.fixture
def auditor(charlie):
    """May see all calls."""
    charlie.user_permissions.add(Permission.objects.get(codename="view_invocation"))
    return charlie


@pytest.fixture
def tool(alice, bob):
    """Alice brought it in; Bob called it five times, of which two failed, Alice once."""
    tool = make_tool(package=make_package(added_by=alice))
    record(tool, count=3, user=bob)
    record(tool, count=2, user=bob, error_code="tool_crashed")
    record(tool, user=alice)
    return tool


def calls_of(client, tool):
    return client.get(f"/api/v1/tools/{tool.pk}/usage/").json()


def test_makers_and_auditors_see_all_calls_and_others_their_own(
    client_for, alice, bob, auditor, tool
):
    told = {person.username: calls_of(client_for(person), tool) for person in (alice, bob, auditor)}
    assert {name: (body["calls_of"], body["total"]["calls"]) for name, body in told.items()} == {
        "alice": ("everybody", 6),
        "bob": ("you", 5),
        "charlie": ("everybody", 6),
    }
    assert told["alice"]["errors"][0]["code"] == "tool_crashed"
    assert told["bob"]["errors"] == []


def test_the_page_says_whose_calls_it_shows(client_for, alice, bob, tool):
    url = f"/tools/{tool.pk}/usage/"
    assert "These are your own calls." in client_for(bob).get(url).content.decode()
    page = client_for(alice).get(url).content.decode()
    assert "These are your own calls." not in page
    assert "tool_crashed" in page
    assert 'style="' not in page


def test_a_private_tool_is_hidden_from_others_but_auditors_see_its_use(
    client_for, alice, bob, auditor
):
    tool = make_sequence(
        alice, definition={"format": 1, "steps": []}, visibility=Visibility.PRIVATE
    )
    for path in (f"/tools/{tool.pk}/usage/", f"/api/v1/tools/{tool.pk}/usage/"):
        assert client_for(bob).get(path).status_code == 404
        assert client_for(auditor).get(path).status_code == 200


def test_a_stranger_is_asked_to_sign_in(client, tool):
    assert client.get(f"/tools/{tool.pk}/usage/").status_code == 302
    assert client.get(f"/api/v1/tools/{tool.pk}/usage/").status_code == 401


def test_without_calls_the_page_says_what_to_do(client_for, alice):
    page = client_for(alice).get(f"/tools/{make_tool().pk}/usage/").content.decode()
    assert "You did not call it in this time" in page
    assert "Try it" in page


@pytest.mark.parametrize("period", ["24h", "7d", "30d", "90d", "", "x" * 400])
def test_every_time_can_be_chosen_and_any_other_means_a_month(client_for, alice, tool, period):
    client = client_for(alice)
    page = client.get(f"/tools/{tool.pk}/usage/?period={period}").content.decode()
    assert page.count("<rect") >= 2
    chosen = period if period in NAMES else "30d"
    assert f'aria-current="true">{chosen}<' in page
    fragment = client.get(f"/tools/{tool.pk}/usage/", headers={"HX-Request": "true"})
    assert fragment.content.decode().lstrip().startswith('<div class="stack stack-lg" id="usage">')


def test_tables_are_downloaded_as_csv(client_for, alice, bob, tool):
    client = client_for(alice)
    answer = client.get(f"/tools/{tool.pk}/usage/?format=csv&part=calls&period=7d")
    rows = list(csv.DictReader(StringIO(answer.content.decode())))
    assert answer["Content-Type"].startswith("text/csv")
    assert len(rows) == 7
    assert rows[-1]["calls"] == "6"
    errors = client.get(f"/tools/{tool.pk}/usage/?format=csv&part=errors").content.decode()
    assert errors.splitlines()[1].startswith("tool_crashed,2,")
    assert client.get(f"/tools/{tool.pk}/usage/?format=csv&part=none").status_code == 404
    others = client_for(bob).get(f"/tools/{tool.pk}/usage/?format=csv&part=errors")
    assert others.status_code == 404, "what others ran into is not for everybody"


def test_the_api_takes_a_stretch_of_time(client_for, alice, tool):
    now = timezone.now()
    record(tool, at=now - timedelta(days=45), count=4)
    client, url = client_for(alice), f"/api/v1/tools/{tool.pk}/usage/"
    assert client.get(url).json()["total"]["calls"] == 6
    old = {"from": (now - timedelta(days=50)).date(), "to": (now - timedelta(days=40)).date()}
    body = client.get(url, old).json()
    assert body["total"]["calls"] == 4
    assert body["period"]["step"] == "day"
    hours = client.get(url, {"from": (now - timedelta(hours=3)).isoformat()}).json()
    assert (hours["period"]["step"], hours["total"]["calls"]) == ("hour", 6)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("from=yesterday", "“from” is not a date or time"),
        ("to=0001-01-01", "“to” is not a date or time"),
        ("from=2026-01-02&to=2026-01-01", "must be later"),
        ("from=2020-01-01&to=2026-01-01", "366 days"),
        ("from=2026-13-45", "“from” is not a date or time"),
    ],
)
def test_a_stretch_of_time_that_cannot_be_is_refused(client_for, alice, tool, query, words):
    answer = client_for(alice).get(f"/api/v1/tools/{tool.pk}/usage/?{query}")
    assert answer.status_code == 400
    assert words in answer.json()["message"]


def test_the_tools_page_shows_how_it_fared_and_what_it_costs_a_model(client_for, alice, tool):
    page = client_for(alice).get(f"/tools/{tool.pk}/").content.decode()
    assert "Health over 30 days" in page
    assert "tokens a request" in page
    assert f"/tools/{tool.pk}/usage/" in page
