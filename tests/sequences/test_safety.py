"""What a sequence may do and needs follows from its steps, and is looked at before the first."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from registry.context import CallContext
from registry.errors import PermissionRefused
from registry.execution import invoke
from registry.loading import load_spec
from registry.models import Tool
from registry.models.invocation import Caller
from sequences import runs
from sequences.drafts import draft_begin
from sequences.forms.drafts import Draft, Row, StepDraft
from sequences.models import Run
from sequences.safety import safety_of
from tests import factories
from tests.sequences import workshop

pytestmark = pytest.mark.django_db


def api_tool(method: str, **fields: Any) -> Tool:
    definition = {"method": method, "url": "https://api.example.org/things"}
    return factories.make_tool(kind="api", package=None, definition=definition, **fields)


def steps(*tools: Tool, **fields: Any) -> dict[str, Any]:
    return {"format": 1, "steps": [workshop.step(t, n, **fields) for n, t in enumerate(tools, 1)]}


def context(user: User, **fields: Any) -> CallContext:
    return CallContext(user=user, caller=Caller.REST, **fields)


def test_a_sequence_is_read_only_only_if_all_its_steps_are() -> None:
    reads, deletes = api_tool("GET"), api_tool("DELETE")
    assert safety_of(steps(reads)).annotations.words == ["read-only", "open world"]
    both = safety_of(steps(reads, deletes)).annotations
    assert both.words == ["writes", "destructive", "idempotent", "open world"]


def test_a_step_that_is_switched_off_does_nothing() -> None:
    safety = safety_of(steps(api_tool("DELETE", required_scopes=["x:y"]), disabled=True))
    assert safety.annotations.words == ["read-only"]
    assert (safety.tools, safety.scopes) == ((), {})


def test_scopes_are_the_union_through_sequences_inside(alice: User) -> None:
    mail = workshop.make("echo", wire_name="mail", required_scopes=["mail:send"])
    inner = workshop.sequence_of(alice, workshop.step(mail), required_scopes=["in:ner"])
    safety = safety_of(steps(inner, workshop.make("fail")), ["own:one", "mail:send"])
    assert safety.scopes == {"in:ner": (inner.wire_name,), "mail:send": ("mail",), "own:one": ()}
    assert set(safety.tools) == {inner.wire_name, "mail", "fail"}


def test_rest_tells_what_a_sequence_may_do_and_what_its_steps_require(
    alice: User, client: Client
) -> None:
    mail = workshop.make("echo", wire_name="mail", required_scopes=["mail:send"])
    deletes = api_tool("DELETE")
    outer = workshop.sequence_of(alice, workshop.step(mail), workshop.step(deletes))
    client.force_login(alice)
    told = client.get(f"/api/v1/tools/{outer.pk}/").json()
    assert told["stepsRequire"] == {"mail:send": ["mail"]}
    assert told["annotations"] == {
        "readOnly": False,
        "destructive": True,
        "idempotent": False,
        "openWorld": True,
    }


def test_variables_name_the_tools_that_need_them() -> None:
    env = [{"name": "A_KEY", "required": True}, {"name": "B", "required": False}]
    tool = workshop.make("echo", package=factories.make_package(env=env))
    assert safety_of(steps(tool)).needs == {"A_KEY": ("echo",)}


@pytest.mark.parametrize(
    "definition", [None, {}, {"steps": None}, {"steps": [None, {}, {"toolToRunId": "x"}]}]
)
def test_an_unfinished_definition_does_nothing(definition: Any) -> None:
    assert safety_of(definition).tools == ()


@pytest.fixture
def guarded(alice: User) -> Tool:
    """A sequence whose second step, in a sequence of its own, requires a scope."""
    mail = workshop.make("echo", wire_name="mail", required_scopes=["mail:send"])
    inner = workshop.sequence_of(alice, workshop.step(mail))
    first = workshop.make("third_time", wire_name="first")
    return workshop.sequence_of(alice, workshop.step(first), workshop.step(inner))


def test_a_start_is_refused_before_the_first_step(alice: User, guarded: Tool) -> None:
    with pytest.raises(PermissionRefused) as caught:
        runs.run_start(guarded, {}, context=context(alice, scopes=frozenset({"other"})))
    assert caught.value.extra["missing_scopes"] == ["mail:send"]
    assert "require the scope mail:send (for mail). No step was run." in caught.value.message
    assert not Run.objects.exists()


def test_a_call_by_a_model_is_refused_too(alice: User, guarded: Tool) -> None:
    result = invoke(load_spec(guarded), {}, context(alice, scopes=frozenset()))
    assert result.error.extra["missing_scopes"] == ["mail:send"]
    assert not Run.objects.exists()
    assert not workshop.calls


def test_a_retry_is_refused_too(alice: User, guarded: Tool) -> None:
    failed = workshop.run_of(guarded, alice, status="failed", scopes=[], finished_at=timezone.now())
    with pytest.raises(PermissionRefused, match="mail:send"):
        runs.run_retry(failed, context=context(alice))
    assert Run.objects.count() == 1


@pytest.mark.parametrize("scopes", [None, frozenset({"mail:send"})])
def test_who_has_the_scopes_may_start_it(alice: User, guarded: Tool, scopes: Any) -> None:
    assert runs.run_start(guarded, {}, context=context(alice, scopes=scopes)).scopes == (
        None if scopes is None else ["mail:send"]
    )


def test_the_page_of_the_tool_shows_what_its_steps_require(
    client: Client, alice: User, guarded: Tool
) -> None:
    client.force_login(alice)
    page = client.get(reverse("registry:tool_detail", args=[guarded.pk])).content.decode()
    assert "Required by its steps" in page
    assert "<code>mail:send</code>" in page


def test_the_builder_shows_what_a_draft_may_do_and_what_is_worth_a_look(
    client: Client, alice: User
) -> None:
    deletes = api_tool("DELETE", required_scopes=["files:delete"])
    steps = [
        StepDraft(key="del", tool=deletes.wire_name, store_as="gone", when="true"),
        StepDraft(
            key="say",
            tool=workshop.make("echo").wire_name,
            rows=[Row(name="t", source="previousStep", value="gone")],
        ),
    ]
    row = draft_begin(alice, Draft(name="Tidy", schema='{"type": "object"}', steps=steps))
    client.force_login(alice)
    page = client.get(f"/sequences/drafts/{row.pk}/edit").content.decode()
    shown = page.partition('id="draft-safety"')[2].partition("</aside>")[0]
    assert "destructive" in shown
    assert "files:delete" in shown
    assert "Step 1 may be skipped by its condition" in shown
    assert 'href="#step-say"' in shown
