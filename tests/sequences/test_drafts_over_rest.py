"""Drafts of sequences by REST: begun, saved, mended, published, as the builder does."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from registry.models import Tool
from sequences.models import SequenceDraft
from sequences.opened import opened_draft
from sequences.services import sequence_update
from tests import factories
from tests.sequences import workshop
from tests.sequences.drafts_by_rest import (
    API,
    DRAFTS,
    SCHEMA,
    Caller,
    begun,
    definition_of,
    fields_of,
)


@pytest.fixture
def call(alice: User) -> Caller:
    return Caller(alice)


@pytest.fixture
def echo() -> Tool:
    return workshop.make("echo", input_schema=SCHEMA)


def published(call: Caller, echo: Tool) -> tuple[Any, str]:
    """Return a draft that was published, and its address."""
    address = f"{DRAFTS}{begun(call, fields_of(echo))['id']}/"
    answer = call("post", f"{address}publish/")
    assert answer.status_code == 200, answer.content
    return answer.json(), address


def test_a_draft_is_begun_mended_and_published(call: Caller, echo: Tool, alice: User) -> None:
    draft = begun(call)
    assert (draft["sequence"], draft["revision"], draft["currentVersion"]) == (None, 1, 0)
    address = f"{DRAFTS}{draft['id']}/"
    missing = call("get", f"{address}problems/").json()["problems"]
    assert {problem["field"] for problem in missing} >= {"name", "description"}
    refused = call("post", f"{address}publish/")
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_definition")

    saved = call("put", address, fields_of(echo))
    assert saved.status_code == 200, saved.content
    assert saved.json()["definition"]["steps"][0]["toolToRunId"] == str(echo.pk)
    assert saved.json()["revision"] == 2
    assert call("get", f"{address}problems/").json()["problems"] == []
    tool = call("post", f"{address}publish/").json()
    assert (tool["title"], tool["version"], tool["owner"]) == ("Say it", 1, "alice")
    after = call("get", address).json()
    assert (after["sequence"], after["hasChanges"], after["baseVersion"]) == (tool["id"], False, 1)


def test_what_is_read_can_be_sent_back_however_unfinished(call: Caller) -> None:
    draft = begun(call, {"name": "Half"})
    address = f"{DRAFTS}{draft['id']}/"
    row = SequenceDraft.objects.get()
    row.document["schema"] = "{ not JSON"
    row.save()
    read = call("get", address).json()
    assert read["inputSchema"] is None
    names = ("name", "description", "visibility", "team", "requiredScopes", "reason")
    sent = {name: read[name] for name in (*names, "definition", "inputSchema")}
    again = call("put", address, sent)
    assert (again.status_code, again.json()) == (200, read)
    renamed = call("put", address, {**sent, "name": "Other"}).json()
    assert (renamed["name"], renamed["revision"]) == ("Other", read["revision"] + 1)
    assert opened_draft(row.owner, row.pk).draft.schema == "{ not JSON"


def test_another_definition_must_have_the_form_of_one(call: Caller, echo: Tool) -> None:
    address = f"{DRAFTS}{begun(call, fields_of(echo))['id']}/"
    wrong = definition_of(echo, timeoutSeconds="soon")
    refused = call("patch", address, {"definition": wrong})
    assert refused.status_code == 400
    told = refused.json()
    assert (told["code"], told["extra"]["problems"][0]["step"]) == ("invalid_definition", 1)
    assert call("get", address).json()["revision"] == 1


def test_only_what_was_read_is_written_over(call: Caller, echo: Tool) -> None:
    address = f"{DRAFTS}{begun(call)['id']}/"
    tag = call("get", address)["ETag"]
    first = call("patch", address, {"name": "Mine"}, **{"If-Match": tag})
    assert (first.status_code, first.json()["name"]) == (200, "Mine")
    second = call("patch", address, {"name": "Theirs"}, **{"If-Match": tag})
    assert second.status_code == 412
    third = call("patch", address, {"name": "Both"}, **{"If-Match": first["ETag"]})
    assert third.status_code == 200
    late = call("post", f"{address}undo/", {"revision": 2})
    assert (late.status_code, late.json()["code"]) == (409, "draft_conflict")
    assert late.json()["extra"] == {"revision": 3}


def test_changes_are_taken_back_and_brought_again(call: Caller, echo: Tool) -> None:
    address = f"{DRAFTS}{begun(call, {'name': 'One'})['id']}/"
    call("put", address, fields_of(echo, name="Two"))
    undone = call("post", f"{address}undo/").json()
    assert (undone["name"], undone["undo"]) == ("One", None)
    assert "Changed the name" in undone["redo"]
    redone = call("post", f"{address}redo/").json()
    assert (redone["name"], redone["redo"]) == ("Two", None)
    assert call("post", f"{address}redo/").json()["revision"] == redone["revision"]


def test_the_draft_of_a_published_sequence_is_opened_as_any_version_was(
    call: Caller, echo: Tool
) -> None:
    tool, address = published(call, echo)
    call("patch", address, {"description": "Says it once more.", "reason": "Clearer"})
    assert call("post", f"{address}publish/").json()["version"] == 2
    opened = call("post", f"{API}/sequences/{tool['id']}/draft/").json()
    assert (opened["description"], opened["hasChanges"]) == ("Says it once more.", False)
    earlier = call("post", f"{API}/sequences/{tool['id']}/draft/", {"version": 1}).json()
    assert (earlier["id"], earlier["description"]) == (opened["id"], "Says it again.")
    assert earlier["undo"] == "Back to version 1"
    none = call("post", f"{API}/sequences/{tool['id']}/draft/", {"version": 7})
    assert none.status_code == 404
    listed = call("get", f"{DRAFTS}?sequence={tool['id']}").json()["results"]
    assert [row["id"] for row in listed] == [opened["id"]]
    assert call("get", f"{DRAFTS}?sequence={opened['id']}").json()["results"] == []


def test_a_sequence_that_was_made_at_once_gets_a_draft_when_it_is_asked_for(
    call: Caller, echo: Tool
) -> None:
    tool = call("post", f"{API}/tools/", fields_of(echo)).json()
    address = f"{API}/sequences/{tool['id']}/draft/"
    first, again = call("post", address), call("post", address)
    assert (first.status_code, first.json()) == (200, again.json())
    assert first.json()["name"] == "Say it"


def test_a_version_that_was_published_meanwhile_is_told(
    call: Caller, echo: Tool, alice: User
) -> None:
    tool, address = published(call, echo)
    call("patch", address, {"description": "Mine."})
    stored = Tool.objects.get(pk=tool["id"])
    sequence_update(
        stored,
        author=alice,
        name="Say it",
        description="Theirs.",
        definition=stored.definition,
        input_schema=SCHEMA,
        visibility="private",
    )
    refused = call("post", f"{address}publish/")
    assert (refused.status_code, refused.json()["code"]) == (409, "newer_version")
    rebased = call("post", f"{address}rebase/").json()
    assert (rebased["description"], rebased["baseVersion"]) == ("Mine.", 2)
    fresh = call("post", f"{address}restart/").json()
    assert (fresh["description"], fresh["hasChanges"]) == ("Theirs.", False)
    assert call("post", f"{address}undo/").json()["description"] == "Mine."


def test_what_breaks_by_it_is_agreed_to_first(call: Caller, echo: Tool, alice: User) -> None:
    tool, address = published(call, echo)
    inner = Tool.objects.get(pk=tool["id"])
    user = begun(call, fields_of(inner, name="Uses it"))
    assert call("post", f"{DRAFTS}{user['id']}/publish/").status_code == 200
    other = {**SCHEMA, "properties": {"words": {"type": "string"}}, "required": ["words"]}
    mapping = {"text": {"source": "initialInput", "key": "words"}}
    changed = {"inputSchema": other, "definition": definition_of(echo, inputMapping=mapping)}
    assert call("patch", address, changed).status_code == 200
    refused = call("post", f"{address}publish/").json()
    assert refused["code"] == "agreement_needed"
    assert refused["extra"]["problems"][0]["name"] == "Uses it"
    other_digest = call("post", f"{address}publish/", {"agreed": "something else"})
    assert other_digest.status_code == 409
    agreed = call("post", f"{address}publish/", {"agreed": refused["extra"]["agreed"]})
    assert (agreed.status_code, agreed.json()["version"]) == (200, 2)


def test_a_draft_that_was_never_published_is_discarded_and_no_other(
    call: Caller, echo: Tool
) -> None:
    address = f"{DRAFTS}{begun(call)['id']}/"
    assert call("delete", address).status_code == 204
    assert call("get", address).status_code == 404
    _, kept = published(call, echo)
    refused = call("delete", kept)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert SequenceDraft.objects.count() == 1


def test_begin_again_needs_something_published(call: Caller) -> None:
    address = f"{DRAFTS}{begun(call)['id']}/"
    assert call("post", f"{address}restart/").status_code == 404


def test_a_team_is_named_and_must_be_ones_own(call: Caller, alice: User) -> None:
    address = f"{DRAFTS}{begun(call)['id']}/"
    team = factories.make_team("editors", alice)
    shared = call("patch", address, {"visibility": "team", "team": team.name}).json()
    assert (shared["visibility"], shared["team"]) == ("team", "editors")
    strange = call("patch", address, {"team": "others"})
    assert strange.json()["extra"]["problems"][0]["path"] == "$.team"
    assert call("patch", address, {"team": None}).json()["team"] is None


@pytest.mark.parametrize("text", ["a\x00b", "\ud83d"], ids=["nul", "surrogate"])
def test_what_cannot_be_stored_is_refused(call: Caller, text: str) -> None:
    address = f"{DRAFTS}{begun(call)['id']}/"
    for body in (
        {"name": text},
        {"inputSchema": {"title": text}},
        {"definition": {"format": 1, "steps": [], "x": text}},
    ):
        assert call("patch", address, body).status_code == 400, body


def test_drafts_of_others_are_not_there(call: Caller) -> None:
    draft = begun(call)
    bob = Caller(factories.make_user("bob"))
    address = f"{DRAFTS}{draft['id']}/"
    assert bob("get", DRAFTS).json()["results"] == []
    for method, place in [
        *(("get", each) for each in ("", "problems/", "tests/", "outputs/", "samples/")),
        *(("post", each) for each in ("publish/", "undo/", "tests/", "restart/", "rebase/")),
        ("put", ""),
        ("delete", ""),
    ]:
        body = {"name": "x", "definition": {}, "inputSchema": {}} if method == "put" else None
        assert bob(method, address + place, body).status_code == 404, place


def test_a_token_that_only_reads_changes_no_draft(call: Caller, alice: User) -> None:
    address = f"{DRAFTS}{begun(call)['id']}/"
    reader = Caller(alice, "tools:read")
    assert reader("get", address).status_code == 200
    assert reader("post", DRAFTS).status_code == 403
    assert reader("patch", address, {"name": "x"}).status_code == 403
    assert reader("post", f"{address}publish/").status_code == 403
    assert reader("delete", address).status_code == 403


def test_a_version_gets_a_name(call: Caller, echo: Tool) -> None:
    tool, _ = published(call, echo)
    address = f"{API}/sequences/{tool['id']}/versions/1/name/"
    assert call("get", address).json() == {"number": 1, "name": ""}
    assert call("put", address, {"name": " The  first "}).json()["name"] == "The first"
    assert call("get", address).json()["name"] == "The first"
    assert call("put", address.replace("/1/", "/9/"), {"name": "x"}).status_code == 404
    assert call("put", address, {"name": ""}).json()["name"] == ""
    strange = Caller(factories.make_user("bob"))
    assert strange("get", address).status_code == 404


def test_a_required_input_that_is_left_out_is_told(call: Caller) -> None:
    needs = {"type": "object", "properties": {"other": {"type": "string"}}, "required": ["other"]}
    tool = workshop.make("echo", input_schema=needs)
    definition = definition_of(tool, inputMapping={})
    address = f"{DRAFTS}{begun(call, fields_of(tool, definition=definition))['id']}/"
    (problem,) = call("get", f"{address}problems/").json()["problems"]
    assert (problem["step"], problem["field"]) == (1, "inputMapping.other")
    assert call("post", f"{address}publish/").status_code == 400
