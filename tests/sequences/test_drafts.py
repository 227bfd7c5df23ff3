"""Drafts: saved with every change, undone and redone, never overwritten unseen."""

import copy
import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.lib.errors import Conflict, InvalidInput, NotFound
from registry.models import Tool
from sequences import drafts
from sequences.drafts import DraftConflict, draft_begin, draft_redo, draft_save, draft_undo
from sequences.forms.actions import act
from sequences.forms.changes import change_words, changes_between
from sequences.forms.definitions import definition_from_draft
from sequences.forms.drafts import (
    Draft,
    Row,
    StepDraft,
    draft_from_json,
    draft_to_json,
    new_draft,
)
from sequences.forms.saved import draft_from_definition
from sequences.forms.settling import settled
from sequences.forms.step_tools import tools_of
from sequences.models import DraftRevision, SequenceDraft
from sequences.opened import Opened, history_of, opened_draft
from sequences.services import sequence_update
from tests.sequences import workshop
from tests.sequences.test_builder import begun, fields_of, newest, press

HTMX = {"HX-Request": "true"}
WHOLE: dict[str, Any] = {
    "format": 1,
    "maxConcurrentRuns": 3,
    "steps": [
        {
            "stepNumber": 1,
            "key": "first",
            "title": "Look",
            "toolToRunId": "echo",
            "toolVersion": None,
            "inputMapping": {
                "text": {"source": "expression", "value": "initial.text"},
                "part": {"source": "item", "path": "name"},
            },
            "outputDisplaySuccess": "Done",
            "outputDisplayFailure": "",
            "continueOnFailure": False,
            "storeOutputAs": "looked",
            "timeoutSeconds": 30,
            "when": 'initial.text != ""',
            "forEach": {
                "items": {"source": "initialInput", "key": "text"},
                "parallel": 4,
                "maxItems": 100,
            },
            "retry": {"attempts": 3, "backoffSeconds": 1.5, "backoffFactor": 2},
            "parallel": {"group": "both", "branch": "left"},
            "fallback": {"value": {"found": 0}},
            "disabled": True,
            "repeatable": True,
        },
        {
            "stepNumber": 2,
            "key": "second",
            "title": "",
            "approval": {
                "title": "Go on?",
                "message": "{{ steps.looked }}",
                "onRejected": "continue",
                "expiresAfterSeconds": 3600,
                "inputSchema": {"type": "object"},
            },
            "outputDisplaySuccess": "",
            "outputDisplayFailure": "",
            "continueOnFailure": True,
            "storeOutputAs": None,
            "timeoutSeconds": 30,
            "when": None,
            "parallel": {"group": "both", "branch": "right"},
            "disabled": False,
        },
    ],
}


@pytest.fixture
def client(alice: User, client_for: Callable[[User], Client]) -> Client:
    return client_for(alice)


def opened(user: User, row: SequenceDraft) -> Opened:
    return opened_draft(user, row.pk)


def named(state: Opened, name: str) -> Draft:
    return dataclasses.replace(copy.deepcopy(state.draft), name=name)


def renamed(state: Opened, name: str, user: User) -> Opened:
    return draft_save(state, named(state, name), user=user, revision=state.revision)


@pytest.fixture
def begun_draft(alice: User) -> Opened:
    return opened(alice, draft_begin(alice, new_draft()))


def test_a_draft_is_the_same_after_it_was_stored() -> None:
    draft = draft_from_definition(WHOLE, {})
    assert draft_from_json(draft_to_json(draft)) == draft


def test_a_definition_is_the_same_after_it_was_a_draft() -> None:
    draft = draft_from_definition(WHOLE, {})
    again = definition_from_draft(draft, {})
    said = [
        {key: value for key, value in step.items() if value is not None} for step in again["steps"]
    ]
    wanted = [
        {key: value for key, value in step.items() if value is not None} for step in WHOLE["steps"]
    ]
    assert said == wanted
    assert again["maxConcurrentRuns"] == 3


def test_what_a_stored_draft_lacks_is_empty_and_what_is_not_known_is_left_out() -> None:
    draft = draft_from_json({"name": 7, "later": 1, "steps": [{"tool": "echo", "new": 1}, "no"]})
    assert draft.name == ""
    assert [step.tool for step in draft.steps] == ["echo"]
    assert draft.steps[0].key


def test_steps_without_a_key_or_with_anothers_get_their_own() -> None:
    draft = draft_from_json({"steps": [{"key": "a"}, {"key": "a"}, {}]})
    keys = [step.key for step in draft.steps]
    assert keys[0] == "a" and len(set(keys)) == 3


def test_branches_that_are_mixed_up_stand_side_by_side_in_the_builder() -> None:
    steps = [
        {"stepNumber": number, "toolToRunId": name, "parallel": {"group": "g", "branch": branch}}
        for number, (name, branch) in enumerate([("a", "x"), ("b", "y"), ("c", "x")], 1)
    ]
    draft = draft_from_definition({"steps": steps}, {})
    assert [(step.tool, step.beside) for step in draft.steps] == [
        *(("a", ""), ("c", "same"), ("b", "beside")),
    ]
    places = [step["parallel"] for step in definition_from_draft(draft, {})["steps"]]
    assert [place["branch"] for place in places] == ["x", "x", "y"]


def test_a_branch_alone_is_no_block() -> None:
    draft = Draft(steps=[StepDraft(tool="a"), StepDraft(tool="b", beside="same")])
    assert [step["parallel"] for step in definition_from_draft(draft, {})["steps"]] == [None, None]


def test_two_blocks_behind_one_another_keep_apart() -> None:
    places = ["", "beside", "", "beside"]
    draft = Draft(steps=[StepDraft(tool="a", beside=place) for place in places])
    groups = [step["parallel"]["group"] for step in definition_from_draft(draft, {})["steps"]]
    assert groups[0] == groups[1] != groups[2] == groups[3]


def test_each_change_can_be_undone_and_done_again(begun_draft: Opened, alice: User) -> None:
    one = renamed(begun_draft, "One", alice)
    draft = copy.deepcopy(one.draft)
    act(draft, "add-step")
    two = draft_save(one, draft, user=alice, revision=one.revision)
    back = draft_undo(two, user=alice, revision=two.revision)
    assert (back.draft.name, len(back.draft.steps)) == ("One", 1)
    back = draft_undo(back, user=alice, revision=back.revision)
    assert back.draft.name == ""
    assert history_of(back.row).undo is None
    forth = draft_redo(back, user=alice, revision=back.revision)
    forth = draft_redo(forth, user=alice, revision=forth.revision)
    assert len(forth.draft.steps) == 2
    assert draft_redo(forth, user=alice, revision=forth.revision).revision == forth.revision


def test_a_new_change_cuts_off_what_was_undone(begun_draft: Opened, alice: User) -> None:
    one = renamed(begun_draft, "One", alice)
    back = draft_undo(one, user=alice, revision=one.revision)
    draft = copy.deepcopy(back.draft)
    draft.description = "Else."
    now = draft_save(back, draft, user=alice, revision=back.revision)
    assert history_of(now.row).redo is None
    assert list(now.row.revisions.order_by("number").values_list("number", flat=True)) == [1, 2]


def test_typing_in_one_field_is_one_change_until_a_pause(
    begun_draft: Opened, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    # on a busy machine the saves below may be further apart than a person's
    monkeypatch.setattr(drafts, "ONE_GO", timedelta(hours=1))
    state = begun_draft
    for name in ("S", "Sh", "Shout"):
        state = renamed(state, name, alice)
    assert state.row.revisions.count() == 2
    assert state.revision == 4, "who saves names the very state"
    earlier = timezone.now() - timedelta(hours=2)
    DraftRevision.objects.filter(draft=state.row).update(created_at=earlier)
    state = renamed(state, "Shout it", alice)
    assert state.row.revisions.count() == 3
    assert history_of(state.row).undo == "Changed the name"


def test_typing_in_another_field_is_another_change(begun_draft: Opened, alice: User) -> None:
    state = renamed(begun_draft, "S", alice)
    draft = copy.deepcopy(state.draft)
    draft.description = "S"
    assert draft_save(state, draft, user=alice, revision=state.revision).row.revisions.count() == 3


def test_at_most_so_many_states_are_kept(
    begun_draft: Opened, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "MOST_KEPT", 3)
    monkeypatch.setattr(drafts, "ONE_GO", timedelta(0))
    state = begun_draft
    for number in range(6):
        state = renamed(state, f"Name {number}", alice)
    numbers = state.row.revisions.order_by("number").values_list("number", flat=True)
    assert list(numbers) == [5, 6, 7]


def test_who_began_from_an_older_state_is_told_and_overwrites_nothing(
    begun_draft: Opened, alice: User
) -> None:
    renamed(begun_draft, "First", alice)
    with pytest.raises(DraftConflict) as caught:
        draft_save(
            begun_draft, named(begun_draft, "Second"), user=alice, revision=begun_draft.revision
        )
    assert caught.value.row is not None and caught.value.row.document["name"] == "First"
    assert (caught.value.code, caught.value.status) == ("draft_conflict", 409)
    assert caught.value.message == "Somebody changed this draft meanwhile."


def test_folding_a_step_is_no_change_to_undo(begun_draft: Opened, alice: User) -> None:
    draft = copy.deepcopy(begun_draft.draft)
    draft.steps[0].collapsed = True
    now = draft_save(begun_draft, draft, user=alice, revision=begun_draft.revision)
    assert now.revision == begun_draft.revision
    assert opened(alice, now.row).draft.steps[0].collapsed
    assert now.row.revisions.count() == 1


def test_a_draft_that_is_too_large_is_refused(begun_draft: Opened, alice: User) -> None:
    with pytest.raises(InvalidInput, match="at most 1,000,000 fit"):
        renamed(begun_draft, "x" * 1_000_001, alice)


def test_nobody_piles_up_drafts(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "MOST_DRAFTS", 1)
    draft_begin(alice, new_draft())
    with pytest.raises(Conflict, match="You have 1 drafts that were never published"):
        draft_begin(alice, new_draft())


def test_a_draft_is_its_owners_alone(
    begun_draft: Opened, bob: User, client_for: Callable[[User], Client]
) -> None:
    assert begun_draft.row is not None
    with pytest.raises(NotFound, match="There is no such draft among yours"):
        opened_draft(bob, begun_draft.row.pk)
    with pytest.raises(NotFound):
        opened_draft(bob, uuid4())
    for name in ("draft_edit", "draft_discard"):
        address = reverse(f"sequences:{name}", args=[begun_draft.row.pk])
        assert client_for(bob).post(address, {"action": "undo"}).status_code == 404


def test_the_draft_of_a_tool_is_its_owners_alone(
    alice: User, bob: User, team: Group, client: Client, client_for: Callable[[User], Client]
) -> None:
    made = workshop.sequence_of(
        alice, workshop.step(workshop.make("echo")), visibility="team", team=team
    )
    url = reverse("sequences:sequence_edit", args=[made.pk])
    press(client, url, "add-step", fields_of(client.get(url)))
    address = reverse("sequences:draft_edit", args=[newest().pk])
    assert client.get(address).status_code == 200
    assert client_for(bob).get(address).status_code == 404


def test_opening_a_sequence_makes_no_draft_and_neither_does_saving_it_unchanged(
    alice: User, client: Client
) -> None:
    made = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    url = reverse("sequences:sequence_edit", args=[made.pk])
    press(client, url, "save", fields_of(client.get(url)))
    assert not SequenceDraft.objects.exists()


def test_a_change_of_a_published_sequence_waits_in_its_draft(alice: User, client: Client) -> None:
    made = workshop.sequence_of(alice, workshop.step(workshop.make("echo")), title="Echo it")
    url = reverse("sequences:sequence_edit", args=[made.pk])
    press(client, url, "save", fields_of(client.get(url)), description="Another.")
    made.refresh_from_db()
    assert made.version == 1
    assert fields_of(client.get(url))["description"] == "Another."
    assert "Unpublished changes" in client.get("/sequences/").content.decode()
    press(client, url, "publish", fields_of(client.get(url)), reason="Better words")
    made.refresh_from_db()
    assert (made.version, made.description) == (2, "Another.")
    assert made.versions.get(number=2).reason == "Better words"
    row = SequenceDraft.objects.get(tool=made)
    assert (row.base_version, row.has_changes) == (2, False)
    assert fields_of(client.get(url))["reason"] == ""
    assert "Unpublished changes" not in client.get("/sequences/").content.decode()


def test_undo_goes_behind_what_was_published(alice: User, client: Client) -> None:
    made = workshop.sequence_of(alice, workshop.step(workshop.make("echo")), description="Old.")
    url = reverse("sequences:sequence_edit", args=[made.pk])
    press(client, url, "publish", fields_of(client.get(url)), description="New.")
    page = press(client, url, "undo", fields_of(client.get(url)))
    assert fields_of(page)["description"] == "Old."
    assert SequenceDraft.objects.get(tool=made).has_changes


def published_by_rest(made: Tool, alice: User) -> None:
    sequence_update(
        made,
        author=alice,
        name=made.title,
        description="By REST.",
        definition=made.definition,
        input_schema=made.input_schema,
        visibility=made.visibility,
    )


@pytest.mark.parametrize(
    ("action", "description"), [("restart", "By REST."), ("rebase", "In the builder.")]
)
def test_a_version_that_was_published_meanwhile_is_never_overwritten_unseen(
    alice: User, client: Client, action: str, description: str
) -> None:
    made = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    url = reverse("sequences:sequence_edit", args=[made.pk])
    press(client, url, "save", fields_of(client.get(url)), description="In the builder.")
    published_by_rest(made, alice)
    text = client.get(url).content.decode()
    assert "Version 2 was published since you began from version 1." in text
    refused = press(client, url, "publish", fields_of(client.get(url)))
    assert refused.status_code == 422
    made.refresh_from_db()
    assert made.description == "By REST."
    chosen = press(client, url, action, fields_of(client.get(url)))
    assert "was published since" not in chosen.content.decode()
    press(client, url, "publish", fields_of(chosen))
    made.refresh_from_db()
    assert made.description == description


def test_a_draft_without_changes_follows_what_is_published(alice: User, client: Client) -> None:
    made = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    url = reverse("sequences:sequence_edit", args=[made.pk])
    press(client, url, "publish", fields_of(client.get(url)), description="Two.")
    made.refresh_from_db()
    published_by_rest(made, alice)
    page = client.get(url)
    assert fields_of(page)["description"] == "By REST."
    assert "was published since" not in page.content.decode()
    press(client, url, "save", fields_of(page), description="Four.")
    row = SequenceDraft.objects.get(tool=made)
    assert (row.base_version, row.document["description"]) == (3, "Four.")


def test_a_page_that_was_open_before_another_version_came_begins_from_its_own(
    alice: User, client: Client
) -> None:
    made = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    url = reverse("sequences:sequence_edit", args=[made.pk])
    shown = fields_of(client.get(url))
    published_by_rest(made, alice)
    client.post(url, {**shown, "action": "save", "description": "Mine."})
    assert SequenceDraft.objects.get(tool=made).base_version == 1
    assert "Version 2 was published since" in client.get(url).content.decode()


def test_two_windows_get_the_choice_and_nothing_of_either_is_lost(
    alice: User, client: Client
) -> None:
    first = fields_of(begun(client))
    page = reverse("sequences:draft_edit", args=[newest().pk])
    second = dict(first)
    assert client.post(page, {**first, "name": "First"}, headers=HTMX).status_code == 200
    conflict = client.post(page, {**second, "name": "Second"}, headers=HTMX)
    text = conflict.content.decode()
    assert conflict.status_code == 409
    assert "You changed this in another window" in text
    assert "<del>First</del>" in text and "<ins>Second</ins>" in text
    keep = {**second, "name": "Second", "action": f"keep-mine-{newest().revision}"}
    assert client.post(page, keep, headers=HTMX).status_code == 200
    assert newest().document["name"] == "Second"
    undone = press(client, page, "undo", fields_of(client.get(page)))
    assert fields_of(undone)["name"] == "First"


def test_taking_theirs_keeps_ones_own_in_the_history(client: Client) -> None:
    first = fields_of(begun(client))
    page = reverse("sequences:draft_edit", args=[newest().pk])
    client.post(page, {**first, "name": "First"}, headers=HTMX)
    take = {**first, "name": "Second", "action": f"take-theirs-{newest().revision}"}
    assert fields_of_fragment(client.post(page, take, headers=HTMX))["name"] == "First"
    undone = press(client, page, "undo", fields_of(client.get(page)))
    assert fields_of(undone)["name"] == "Second"


def fields_of_fragment(response: Any) -> dict[str, str]:
    """Read the fields of an answer to htmx, which is what stands inside of the form."""
    response.content = b'<form id="builder">' + response.content + b"</form>"
    return fields_of(response)


def test_without_scripts_a_conflict_shows_the_form_as_it_was_sent(client: Client) -> None:
    first = fields_of(begun(client))
    page = reverse("sequences:draft_edit", args=[newest().pk])
    client.post(page, {**first, "name": "First"})
    conflict = client.post(page, {**first, "name": "Second", "action": "publish"})
    assert conflict.status_code == 409
    assert fields_of(conflict)["name"] == "Second"
    again = client.post(page, {**fields_of(conflict), "action": "save"})
    assert again.status_code == 409, "the choice is still to be made"


def test_a_save_swaps_in_no_field(client: Client) -> None:
    first = fields_of(begun(client))
    page = reverse("sequences:draft_edit", args=[newest().pk])
    answer = client.post(page, {**first, "name": "Shout", "steps-0-timeout": "x"}, headers=HTMX)
    text = answer.content.decode()
    assert 'name="name"' not in text and 'name="steps-0-timeout"' not in text
    assert text.count("hx-swap-oob") == 6
    assert "steps-0-timeout-error" in text and "This must be a whole number." in text


def test_what_is_not_filled_in_yet_is_counted_without_alarm(client: Client) -> None:
    page = begun(client)
    text = page.content.decode()
    assert "to mend" not in text.replace("0 to mend", "")
    assert "3 things still to fill in." in text
    refused = press(client, draft_page(), "publish", fields_of(page))
    assert "Not published: 3 things to mend" in refused.content.decode()
    assert fields_of(refused)["strict"] == "1"


def draft_page() -> str:
    return reverse("sequences:draft_edit", args=[newest().pk])


def test_a_draft_that_was_never_published_is_listed_and_can_be_discarded(client: Client) -> None:
    page = begun(client)
    press(client, draft_page(), "save", fields_of(page), name="Half made")
    assert "Half made" in client.get("/sequences/").content.decode()
    client.post(reverse("sequences:draft_discard", args=[newest().pk]))
    assert not SequenceDraft.objects.exists()


@pytest.mark.parametrize(
    ("action", "tools"),
    [
        ("insert-1:c", ["a", "c", "b"]),
        ("insert-9:c", ["a", "b"]),
        ("choose-0:c", ["c", "b"]),
        ("duplicate-0", ["a", "a", "b"]),
        ("move-to-0-1", ["b", "a"]),
        ("move-to-0-7", ["a", "b"]),
        ("remove-step-0", ["b"]),
        ("insert-0:+approval", ["", "a", "b"]),
    ],
)
def test_steps_are_put_where_the_button_says(action: str, tools: list[str]) -> None:
    draft = Draft(steps=[StepDraft(tool="a", key="1"), StepDraft(tool="b", key="2")])
    act(draft, action)
    assert [step.tool for step in draft.steps] == tools
    assert len({step.key for step in draft.steps}) == len(tools)


def test_a_step_is_turned_off_and_on_and_folded() -> None:
    draft = Draft(steps=[StepDraft(tool="a")])
    assert act(draft, "toggle-0").label == "Turned step 1 off"
    act(draft, "fold-all")
    assert draft.steps[0].disabled and draft.steps[0].collapsed
    assert act(draft, "toggle-0").field == "steps-0-menu"  # its button is in the menu, now shut
    act(draft, "unfold-all")
    assert not draft.steps[0].disabled and not draft.steps[0].collapsed


def test_there_are_at_most_a_hundred_steps() -> None:
    draft = Draft(steps=[StepDraft(tool="a") for _ in range(100)])
    assert act(draft, "add-step").told == "A sequence has at most 100 steps."
    assert len(draft.steps) == 100


def test_the_first_step_stands_beside_nothing(alice: User) -> None:
    draft = Draft(steps=[StepDraft(tool="a"), StepDraft(tool="b", beside="beside")])
    act(draft, "move-up-1")
    settled(draft, tools_of(alice, draft))
    assert [step.beside for step in draft.steps] == ["", ""]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda draft: setattr(draft, "name", "B"), "Changed the name"),
        (lambda draft: draft.steps.pop(), "Removed step 2 (b)"),
        (lambda draft: draft.steps.reverse(), "Moved a step to place 1 (b)"),
        (lambda draft: setattr(draft.steps[0], "when", "x"), "Changed the condition of step 1"),
        (
            lambda draft: draft.steps[0].rows.append(Row("text", "static", "x")),
            "Changed “text” of step 1",
        ),
        (
            lambda draft: setattr(draft.steps[1], "disabled", True),
            "Changed whether it is off of step 2",
        ),
    ],
)
def test_a_change_is_told_in_words(change: Callable[[Draft], object], words: str) -> None:
    before = Draft(name="A", steps=[StepDraft(key="1", tool="a"), StepDraft(key="2", tool="b")])
    after = copy.deepcopy(before)
    change(after)
    assert change_words(changes_between(before, after)) == words


def test_the_palette_finds_tools_by_name_and_by_what_they_do(client: Client) -> None:
    echo = workshop.make("echo", title="Echo chamber", description="Repeats a text.")
    text = client.get("/sequences/palette").content.decode()
    assert f'data-take="{echo.wire_name}"' in text and "Ask a person" in text
    found = client.get("/sequences/palette", {"q": "chamb"}).content.decode()
    assert "Repeats a text." in found and "Ask a person" not in found
    assert 'data-take="+approval"' in client.get("/sequences/palette?q=approv").content.decode()
    none = client.get("/sequences/palette", {"besides": str(echo.pk)}).content.decode()
    assert f'data-take="{echo.wire_name}"' not in none


def test_the_palette_offers_no_tool_that_the_person_may_not_use(bob: User, client: Client) -> None:
    workshop.make("echo", owner=bob, visibility="private", wire_name="secret_plan")
    assert "secret_plan" not in client.get("/sequences/palette?q=secret").content.decode()


def test_saving_asks_the_database_no_more_for_thirty_steps_than_for_three(
    client: Client, alice: User, django_assert_max_num_queries: Any
) -> None:
    tools = [workshop.make("echo", wire_name=f"echo_{number}") for number in range(30)]
    counts = []
    for size in (3, 30):
        draft = dataclasses.replace(
            new_draft(), steps=[StepDraft(tool=tool.wire_name) for tool in tools[:size]]
        )
        page = reverse("sequences:draft_edit", args=[draft_begin(alice, draft).pk])
        fields = fields_of(client.get(page))
        with django_assert_max_num_queries(60) as asked:
            answer = client.post(page, {**fields, "name": f"With {size}"}, headers=HTMX)
        assert answer.status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1]
