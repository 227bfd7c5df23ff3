"""Templates are made of tools that ship, and each does what it says."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from registry.builtins import BUILTINS
from sequences.documents import read_document
from sequences.forms.drafts import draft_from_json
from sequences.models import SequenceDraft
from sequences.portable import resolved
from sequences.template_library import TEMPLATES
from tests import factories

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
    assert answer["Location"].endswith(f"/sequences/drafts/{row.pk}/")
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
