"""A sequence goes out as a file and comes in as a draft."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from registry.models import Tool
from registry.services import tool_delete
from sequences.beginnings import draft_from_document
from sequences.documents import LARGEST, DocumentRefused, document_in, read_document
from sequences.exporting import sequence_written
from sequences.forms.drafts import draft_from_json
from sequences.models import SequenceDraft
from sequences.portable import resolved
from tests import factories
from tests.sequences import workshop

IMPORT = "/sequences/import"


@pytest.fixture
def client(alice: User, client_for: Callable[[User], Client]) -> Client:
    return client_for(alice)


@pytest.fixture
def counter() -> Tool:
    return factories.make_builtin("count_text")


@pytest.fixture
def sequence(alice: User, counter: Tool) -> Tool:
    return workshop.sequence_of(
        alice,
        workshop.step(
            counter,
            title="Count",
            storeOutputAs="counted",
            inputMapping={
                "text": {"source": "initialInput", "key": "text"},
                "what": {"source": "static", "value": "lines"},
            },
            forEach={"items": {"source": "expression", "value": "[initial.text]"}, "parallel": 2},
        ),
        title="Counts lines",
        wire_name="counts_lines",
        input_schema=factories.TEXT_SCHEMA,
        final={"n": {"source": "previousStep", "step": "counted", "path": "[0].count"}},
    )


def private(owner: User) -> Tool:
    return workshop.sequence_of(
        owner, workshop.step(workshop.make("echo")), visibility="private", wire_name="their_own"
    )


def written(tool: Tool, reader: User) -> dict[str, Any]:
    return sequence_written(tool, reader=reader).as_json()


def test_a_document_names_tools_by_what_they_are_everywhere(alice, sequence, counter):
    document = written(sequence, alice)
    assert document["outfitter"] == "sequence"
    assert document["format"] == 1
    assert document["definition"]["steps"][0]["toolToRunId"] == "count_text"
    assert document["tools"] == [
        {
            "id": "count_text",
            "wireName": "count_text",
            "kind": "builtin",
            "title": counter.title,
            "package": {"ecosystem": "builtin", "name": "outfitter"},
            "export": "count_text",
        }
    ]
    assert str(counter.pk) not in json.dumps(document)


def test_what_is_exported_comes_back_as_it_was(alice, sequence):
    whole = resolved(read_document(written(sequence, alice)), user=alice)
    assert whole.problems == ()
    assert whole.definition == sequence.definition
    assert [match.state for match in whole.matches] == ["found"]


def test_a_pinned_version_is_found_by_what_it_was(alice, counter):
    sequence = workshop.sequence_of(
        alice,
        workshop.step(
            counter, toolVersion=1, inputMapping={"text": {"source": "static", "value": "a"}}
        ),
    )
    document = sequence_written(sequence, reader=alice)
    digest = counter.versions.get().digest
    assert document.tools[0].versions == {"1": digest}
    assert resolved(document, user=alice).definition["steps"][0]["toolVersion"] == 1
    document.tools[0].versions["1"] = "0" * 64
    elsewhere = resolved(document, user=alice)
    assert elsewhere.definition["steps"][0]["toolVersion"] is None
    assert elsewhere.notes == (
        "Step 1 was held to version 1 of count_text, which is not here; it follows the live "
        "version.",
    )


def test_values_that_are_named_like_secrets_stay_here(alice):
    echo = workshop.make("echo")
    sequence = workshop.sequence_of(
        alice,
        workshop.step(
            echo,
            inputMapping={
                "api_key": {"source": "static", "value": "sk-very-secret"},
                "options": {
                    "source": "static",
                    "value": {"password": "hunter2", "deep": [{"token": "t0k3n", "n": 1}]},
                },
            },
        ),
    )
    document = written(sequence, alice)
    text = json.dumps(document)
    assert not any(secret in text for secret in ("sk-very-secret", "hunter2", "t0k3n"))
    assert len(document["leftOut"]) == 3
    notes = resolved(read_document(document), user=alice).notes
    assert notes[0] == "“api_key” of step 1 looked like a secret and was not exported; set it anew."


def test_a_tool_that_the_reader_may_not_use_is_not_named(alice, bob, counter):
    hidden = private(alice)
    sequence = workshop.sequence_of(alice, workshop.step(hidden), workshop.step(counter))
    document = sequence_written(sequence, reader=bob)
    assert [tool.wire_name for tool in document.tools] == ["not_to_be_seen", "count_text"]
    missing = resolved(document, user=alice).matches[0]
    assert (missing.state, missing.candidates) == ("missing", ())
    assert "their_own" not in json.dumps(document.as_json())


def test_a_tool_that_is_not_here_is_a_problem_with_choices(alice, sequence, counter):
    document = sequence_written(sequence, reader=alice)
    tool_delete(counter)
    other = factories.make_builtin("text_statistics")
    whole = resolved(document, user=alice)
    assert [match.state for match in whole.matches] == ["missing"]
    assert whole.definition["steps"][0]["toolToRunId"] == "count_text"
    assert [problem.step for problem in whole.problems][:1] == [1]
    chosen = resolved(document, user=alice, choices={"count_text": str(other.pk)})
    assert [match.state for match in chosen.matches] == ["chosen"]
    assert chosen.definition["steps"][0]["toolToRunId"] == str(other.pk)


def test_a_tool_of_the_same_name_from_elsewhere_is_only_offered(alice, sequence, counter):
    document = sequence_written(sequence, reader=alice)
    tool_delete(counter)
    other = workshop.make("echo", wire_name="count_text")
    match = resolved(document, user=alice).matches[0]
    assert (match.state, match.tool, match.candidates) == ("ambiguous", None, (other,))


def test_nobody_chooses_a_tool_that_they_may_not_use(client, alice, bob, sequence):
    document = sequence_written(sequence, reader=alice)
    hidden = private(bob)
    for choice in (str(hidden.pk), "nonsense"):
        page = client.post(IMPORT, {"document": json.dumps(document.as_json()), "tool-0": choice})
        assert page.status_code == 400
        assert "may not use it" in page.content.decode()


def test_a_sequence_inside_comes_along_and_becomes_a_draft_of_its_own(alice, bob, sequence):
    outer = workshop.sequence_of(
        alice,
        workshop.step(
            sequence,
            inputMapping={"text": {"source": "static", "value": "a\nb"}},
            storeOutputAs="inner",
        ),
        title="Outer",
    )
    document = sequence_written(outer, reader=alice)
    inner = document.tools[0].document
    assert inner is not None
    assert inner.name == "Counts lines"
    whole = resolved(read_document(document.as_json()), user=bob)
    assert [match.state for match in whole.matches] == ["inside"]
    begun = draft_from_document(bob, whole, label="Imported")
    names = [draft_from_json(row.document).name for row in (begun.draft, *begun.inner)]
    assert names == ["Outer", "Counts lines"]
    assert begun.notes == (
        "“Counts lines” came with it and is a draft of its own. Publish it first.",
    )


def test_an_import_begins_a_draft_and_publishes_nothing(client, alice, sequence):
    before = Tool.objects.count()
    text = json.dumps(written(sequence, alice))
    preview = client.post(IMPORT, {"document": text})
    html = preview.content.decode()
    assert "All of its tools are here" in html
    assert "for each item" in html
    assert SequenceDraft.objects.count() == 0
    answer = client.post(IMPORT, {"document": text, "confirm": "1"})
    row = SequenceDraft.objects.get()
    assert answer["Location"].endswith(f"/sequences/drafts/{row.pk}/edit")
    draft = draft_from_json(row.document)
    assert (row.owner, row.tool, draft.name) == (alice, None, "Counts lines")
    assert draft.steps[0].tool == "count_text"
    assert draft.steps[0].each.value == "[initial.text]"
    assert Tool.objects.count() == before


def test_a_file_is_read_as_what_is_pasted(client, alice, sequence):
    text = json.dumps(written(sequence, alice)).encode()
    page = client.post(IMPORT, {"file": SimpleUploadedFile("s.json", text)})
    assert "Counts lines" in page.content.decode()


def test_what_cannot_be_read_is_told_with_its_place_and_kept(client):
    page = client.post(IMPORT, {"document": '{"outfitter": "sequence",\n oops'})
    html = page.content.decode()
    assert page.status_code == 400
    assert "line 2, column 2" in html
    assert "oops</textarea>" in html


def test_a_bad_file_is_shown_in_the_field_so_that_it_can_be_mended(client):
    page = client.post(IMPORT, {"file": SimpleUploadedFile("s.json", b'{"almost": ')})
    assert page.status_code == 400
    assert "{&quot;almost&quot;: </textarea>" in page.content.decode()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Nothing was sent."),
        ("[]", "A sequence is a JSON object."),
        ('{"outfitter": "agent"}', "Its “outfitter” is not “sequence”."),
        ('{"outfitter": "sequence", "format": 9}', "Its “format” is 9; this Outfitter reads 1."),
        ("x" * (LARGEST + 1), "It has more than 1,000,000 characters."),
        ("[" * 100_000, "It is nested too deep, or holds a number too long."),
    ],
)
def test_a_document_that_is_none_is_refused(text, told):
    with pytest.raises(DocumentRefused) as refused:
        document_in(text)
    assert refused.value.message == told


def test_a_wrong_field_is_named_by_its_path():
    with pytest.raises(DocumentRefused) as refused:
        read_document(
            {"outfitter": "sequence", "format": 1, "name": 3, "definition": {}, "extra": 1}
        )
    paths = [problem["path"] for problem in refused.value.extra["problems"]]
    assert paths == ["$.name", "$.extra"]


@pytest.mark.parametrize(
    ("definition", "path"),
    [
        ({}, "$.definition.format"),
        ({"format": 1, "steps": [1]}, "$.definition.steps[0]"),
        (
            {"format": 1, "steps": [{"stepNumber": 1, "toolToRunId": "a", "inputMapping": []}]},
            "$.definition.steps[0].inputMapping",
        ),
    ],
)
def test_a_definition_of_another_form_is_refused_and_kept(client, definition, path):
    document = {"outfitter": "sequence", "format": 1, "name": "x", "definition": definition}
    for more in ({}, {"confirm": "1"}):
        page = client.post(IMPORT, {"document": json.dumps(document), **more})
        assert page.status_code == 400
        assert path in page.content.decode()
        assert "&quot;outfitter&quot;" in page.content.decode()
    assert not SequenceDraft.objects.exists()


def test_what_cannot_become_a_draft_is_not_lost(client, alice, sequence, monkeypatch):
    monkeypatch.setattr("sequences.drafts.MOST_DRAFTS", 0)
    text = json.dumps(written(sequence, alice))
    page = client.post(IMPORT, {"document": text, "confirm": "1"})
    assert page.status_code == 409
    assert "drafts that were never published" in page.content.decode()
    assert "Counts lines" in page.content.decode()


def test_a_file_that_is_no_text_or_too_large_is_refused(client):
    binary = client.post(IMPORT, {"file": SimpleUploadedFile("s.json", b"\xff\xfe\x00")})
    assert "no text in UTF-8" in binary.content.decode()
    large = client.post(IMPORT, {"file": SimpleUploadedFile("s.json", b" " * (LARGEST + 1))})
    assert "more than 1,000,000 bytes" in large.content.decode()


def test_who_sees_a_sequence_takes_it_out_and_nobody_else(
    alice: User,
    bob: User,
    team: Group,
    sequence: Tool,
    client_for: Callable[[User], Client],
) -> None:
    url = f"/sequences/{sequence.pk}/export.json"
    assert client_for(bob).get(url).status_code == 404
    assert client_for(bob).get(f"/api/v1/sequences/{sequence.pk}/export/").status_code == 404
    answer = client_for(alice).get(url)
    assert answer.json()["name"] == "Counts lines"
    assert answer["Content-Disposition"] == 'attachment; filename="counts_lines.sequence.json"'
    assert client_for(alice).get(f"/api/v1/sequences/{sequence.pk}/export/").json() == answer.json()


def test_the_api_tells_what_an_import_would_come_to_and_does_it(client, alice, sequence):
    document = written(sequence, alice)
    told = client.post(
        "/api/v1/sequences/import/?preview=1", document, content_type="application/json"
    )
    assert told.status_code == 200
    assert told.json() == {
        "name": "Counts lines",
        "tools": [
            {
                "id": "count_text",
                "wireName": "count_text",
                "state": "found",
                "tool": str(Tool.objects.get(wire_name="count_text").pk),
                "candidates": [],
            }
        ],
        "problems": [],
        "notes": [],
    }
    made = client.post("/api/v1/sequences/import/", document, content_type="application/json")
    assert made.status_code == 201
    assert made.json()["draft"] == str(SequenceDraft.objects.get().pk)


def test_the_api_refuses_what_is_no_sequence(client):
    answer = client.post("/api/v1/sequences/import/", {"a": 1}, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["code"] == "bad_sequence_document"
