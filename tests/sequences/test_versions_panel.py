"""The versions of one's own sequence, their names, and the way back into the draft."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from config.lib.errors import InvalidInput, NotFound
from registry.models import Tool
from sequences.drafts import draft_save
from sequences.forms.drafts import draft_from_json
from sequences.models import SequenceDraft, VersionName
from sequences.opened import opened_tool
from sequences.services import sequence_update
from sequences.versions import LONGEST_NAME, NameTaken, names_of, version_name
from tests import factories
from tests.sequences import workshop


@pytest.fixture
def client(alice: User, client_for: Callable[[User], Client]) -> Client:
    return client_for(alice)


@pytest.fixture
def sequence(alice: User) -> Tool:
    tool = workshop.sequence_of(alice, workshop.step(workshop.make("echo")), title="Plans")
    return sequence_update(
        tool,
        author=alice,
        name="Better plans",
        description=tool.description,
        definition=tool.definition,
        input_schema=tool.input_schema,
        visibility=tool.visibility,
        reason="A clearer name.",
    )


def page(client: Client, tool: Tool) -> str:
    return client.get(f"/sequences/{tool.pk}/versions/").content.decode()


def test_versions_are_listed_with_their_notes_and_names(client, alice, sequence):
    version_name(sequence, 1, "  the   first ", user=alice)
    html = page(client, sequence)
    assert 'value="the first"' in html
    assert "A clearer name." in html
    assert "The draft says what version 2 says." in html
    assert "No agent carries it and no other sequence calls it." in html


def test_the_draft_is_told_against_what_is_published(client, alice, sequence):
    opened = opened_tool(alice, sequence.pk)
    changed = opened.draft_copy()
    changed.description = "Plans of a week."
    draft_save(opened, changed, user=alice, revision=0)
    html = page(client, sequence)
    assert "not published" in html
    assert "<ins>Plans of a week.</ins>" in html


def test_who_uses_it_is_told(client, alice, sequence):
    agent = factories.make_agent(alice, sequence, name="Planner", slug="planner")
    assert agent.name in page(client, sequence)


def test_a_version_is_named_and_the_name_taken_away_again(client, sequence):
    url = f"/sequences/{sequence.pk}/versions/1/name"
    assert client.post(url, {"name": "stable"}).status_code == 302
    assert names_of(sequence) == {1: "stable"}
    client.post(url, {"name": " "})
    assert not VersionName.objects.exists()


def test_two_versions_do_not_have_one_name(client, alice, sequence):
    version_name(sequence, 1, "stable", user=alice)
    answer = client.post(f"/sequences/{sequence.pk}/versions/2/name", {"name": "stable"})
    html = answer.content.decode()
    assert answer.status_code == 409
    assert "Another version is called “stable”." in html
    assert html.count('value="stable"') == 2
    with pytest.raises(NameTaken):
        version_name(sequence, 2, "stable", user=alice)


def test_a_name_that_is_too_long_or_of_no_version_is_refused(alice, sequence):
    with pytest.raises(InvalidInput, match="at most 60 fit"):
        version_name(sequence, 1, "x" * (LONGEST_NAME + 1), user=alice)
    with pytest.raises(NotFound):
        version_name(sequence, 99, "x", user=alice)


def test_a_version_goes_into_the_draft_and_undo_leads_back(client, alice, sequence):
    answer = client.post(f"/sequences/{sequence.pk}/versions/1/draft", {"revision": "0"})
    assert answer["Location"] == f"/sequences/{sequence.pk}/edit"
    row = SequenceDraft.objects.get()
    assert draft_from_json(row.document).name == "Plans"
    assert row.revisions.order_by("-number")[0].label == "Back to version 1"
    assert row.revisions.count() == 2
    sequence.refresh_from_db()
    assert (sequence.version, sequence.title) == (2, "Better plans")


def test_a_draft_that_somebody_changed_meanwhile_is_not_overwritten(client, alice, sequence):
    opened = opened_tool(alice, sequence.pk)
    changed = opened.draft_copy()
    changed.description = "Mine."
    draft_save(opened, changed, user=alice, revision=0)
    answer = client.post(
        f"/sequences/{sequence.pk}/versions/1/draft", {"revision": "0"}, follow=True
    )
    assert "Somebody changed this draft meanwhile." in answer.content.decode()
    assert draft_from_json(SequenceDraft.objects.get().document).description == "Mine."


@pytest.mark.parametrize("path", ["", "1/name", "1/draft"])
def test_versions_are_their_owners_alone(
    bob: User, sequence: Tool, client_for: Callable[[User], Client], path: str
) -> None:
    client: Any = client_for(bob)
    url = f"/sequences/{sequence.pk}/versions/{path}"
    assert (client.post(url) if path else client.get(url)).status_code == 404
