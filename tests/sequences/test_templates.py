"""Templates are made of tools that ship, and each does what it says."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from registry.builtins import BUILTINS
from sequences.documents import read_document
from sequences.forms.drafts import draft_from_json
from sequences.models import Run, SequenceDraft
from sequences.portable import resolved
from sequences.requests import request_answer
from sequences.running.playing import execute
from sequences.services import sequence_create
from sequences.template_library import TEMPLATES
from tests import factories
from tests.sequences import workshop

pytestmark = pytest.mark.django_db


@pytest.fixture
def _builtins() -> None:
    for name in BUILTINS:
        factories.make_builtin(name)


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.usefixtures("_builtins")
def test_a_template_fits_the_tools_that_ship(name: str, alice: User) -> None:
    whole = resolved(TEMPLATES[name], user=alice)
    assert whole.problems == ()
    assert whole.notes == ()
    assert {match.state for match in whole.matches} == {"found"}


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_a_document_that_can_be_imported(name: str) -> None:
    assert read_document(TEMPLATES[name].as_json()) == TEMPLATES[name]
    assert len(TEMPLATES[name].samples) == 1


def test_templates_show_every_kind_of_step() -> None:
    steps: list[dict[str, Any]] = [
        step for document in TEMPLATES.values() for step in document.definition["steps"]
    ]
    for field in ("forEach", "when", "parallel", "approval", "fallback", "retry"):
        assert any(field in step for step in steps), field
    assert len(TEMPLATES) >= 8


@pytest.mark.usefixtures("_builtins")
def test_starting_from_a_template_begins_a_draft_with_its_sample(
    alice: User, client_for: Callable[[User], Client]
) -> None:
    client = client_for(alice)
    page = client.get("/sequences/templates/").content.decode()
    assert all(document.name in page for document in TEMPLATES.values())
    answer = client.post("/sequences/templates/convert-measurements/start")
    row = SequenceDraft.objects.get()
    assert answer["Location"].endswith(f"/sequences/drafts/{row.pk}/edit")
    draft = draft_from_json(row.document)
    assert (draft.name, row.owner) == ("Convert a list of measurements", alice)
    assert [step.tool for step in draft.steps] == ["convert_units"]
    sample = row.samples.get()
    assert sample.name == "Example"
    assert sample.input == TEMPLATES["convert-measurements"].samples[0].input


def test_there_is_no_other_template(alice: User, client_for: Callable[[User], Client]) -> None:
    assert client_for(alice).post("/sequences/templates/none/start").status_code == 404


def test_templates_are_for_those_who_are_signed_in(client: Client) -> None:
    assert client.get("/sequences/templates/").status_code == 302


def ran(name: str, owner: User, given: dict[str, Any] | None = None) -> Run:
    """Publish a template as it is, and run it with its sample; questions are approved."""
    for builtin in {tool.wire_name for tool in TEMPLATES[name].tools}:
        factories.make_builtin(builtin)
    document = TEMPLATES[name]
    sequence = sequence_create(
        owner,
        name=document.name,
        description=document.description,
        definition=resolved(document, user=owner).definition,
        input_schema=document.input_schema,
    )
    run = workshop.run_of(sequence, owner, input=given or document.samples[0].input)
    execute(run.pk)
    run.refresh_from_db()
    while run.status == "waiting":
        asked = run.requests.get(approved=None)
        request_answer(asked, user=owner, approved=True, values={}, note="")
        execute(run.pk)
        run.refresh_from_db()
    assert run.status == "succeeded", run.error
    return run


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "clean-and-count",
            {
                "text": "The ferry leaves at nine.\nThe next ferry leaves at noon.",
                "words": 11,
                "lines": 2,
                "readingSeconds": 3,
                "mostFrequent": ["at", "ferry", "leaves"],
            },
        ),
        (
            "links-and-dates",
            {
                "links": ["https://docs.example/start"],
                "addresses": ["help@docs.example"],
                "dates": ["Wednesday, 4 March 2026", "Wednesday, 1 April 2026"],
            },
        ),
        (
            "tidy-names",
            {
                "names": ["Ada Lovelace", "Alan Turing", "Grace Hopper"],
                "count": 3,
                "text": "Ada Lovelace\nAlan Turing\nGrace Hopper",
            },
        ),
        (
            "beginning-of-a-text",
            {
                "text": "Tools do one thing. Sequences put them together.",
                "words": 28,
                "wasCut": True,
            },
        ),
        ("read-a-code", {"text": "café menu", "wasBase64": False}),
        (
            "convert-measurements",
            {
                "values": [3.218688, 1.5, 0.5],
                "sum": 5.218688,
                "least": 0.5,
                "greatest": 3.218688,
                "unit": "kilometer",
            },
        ),
        (
            "keep-what-is-wrong",
            {
                "good": [
                    {"name": "Ada", "email": "ada@x.example"},
                    {"name": "Cleo", "email": "cleo@x.example"},
                ],
                "wrong": [{"name": "Bob", "email": ""}],
                "remark": "",
            },
        ),
        ("add-up-a-column", {"total": 172.4, "values": ["129.90", "24.5", "18"], "rows": 3}),
        (
            "deadlines",
            {
                "tasks": ["Draft", "Review", "Publish"],
                "deadlines": [
                    "Monday, 9 March 2026",
                    "Thursday, 12 March 2026",
                    "Wednesday, 18 March 2026",
                ],
                "takes": "16 days",
                "businessDays": 12,
            },
        ),
    ],
)
def test_a_template_does_what_it_says(name: str, expected: dict[str, Any], alice: User) -> None:
    assert ran(name, alice).output == expected


@pytest.mark.django_db(transaction=True)
def test_documents_that_differ_are_asked_about_and_others_are_not(alice: User) -> None:
    differing = ran("compare-documents", alice)
    assert differing.requests.get().message.startswith("The documents differ.")
    assert differing.output is not None
    assert differing.output["same"] is False
    assert differing.output["document"]["hosts"] == ["a.example", "b.example"]
    assert len(differing.output["fingerprint"]) == 64


@pytest.mark.django_db(transaction=True)
def test_documents_that_say_the_same_need_no_answer(alice: User) -> None:
    given = {"before": '{"a": 1, "b": [2]}', "after": '{ "b":[2], "a":1 }'}
    run = ran("compare-documents", alice, given)
    assert not run.requests.exists()
    assert run.output is not None
    assert run.output["same"] is True


@pytest.mark.django_db(transaction=True)
def test_a_short_text_is_kept_whole(alice: User) -> None:
    run = ran("beginning-of-a-text", alice, {"text": "Short  and   sweet.", "words": 10})
    assert run.output == {"text": "Short and sweet.", "words": 3, "wasCut": False}


@pytest.mark.django_db(transaction=True)
def test_base64_is_read_at_the_first_try(alice: User) -> None:
    run = ran("read-a-code", alice, {"code": "aGVsbG8="})
    assert run.output == {"text": "hello", "wasBase64": True}


@pytest.mark.django_db(transaction=True)
def test_a_cell_that_is_no_number_does_not_stop_the_sum(alice: User) -> None:
    run = ran("add-up-a-column", alice, {"table": "a,b\n1,x\n2,y", "column": "b"})
    assert run.output == {"total": "cannot be added up", "values": ["x", "y"], "rows": 2}


@pytest.mark.django_db(transaction=True)
def test_a_draw_is_looked_at_and_recorded(alice: User) -> None:
    run = ran("draw-winners", alice)
    output = run.output
    assert output is not None
    assert len(output["winners"]) == 2
    assert set(output["winners"]) < {"Ada", "Bob", "Cleo", "Dan"}
    assert output["announcement"] == f"The winners: {', '.join(output['winners'])}"
    assert len(output["fingerprint"]) == 64


@pytest.mark.django_db(transaction=True)
def test_the_time_is_told_for_each_city(alice: User) -> None:
    output = ran("time-for-everybody", alice).output
    assert output is not None
    assert output["zones"] == ["Asia/Tokyo", "Europe/Oslo", "America/New_York"]
    assert len(output["times"]) == len(output["weekdays"]) == 3
