"""The page on which a sequence is put together, as a browser without JavaScript uses it."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from registry.models import Tool
from registry.services import tool_delete
from sequences.forms.posted import draft_from_post
from sequences.models import SequenceDraft
from tests import factories
from tests.sequences import workshop

BEGIN = "/sequences/new"
NEW = "the newest draft"
TYPED_SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "times": {"type": "integer", "description": "How often."},
        "loud": {"type": "boolean"},
        "mode": {"type": "string", "enum": ["upper", "lower"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["text", "times"],
    "additionalProperties": False,
}


class Fields(HTMLParser):
    """Collects what a browser would send: the fields of the builder's form."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: dict[str, str] = {}
        self.inside = False
        self.area = self.select = ""
        self.option: str | None = None
        self.first = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        have = dict(attrs)
        name = have.get("name") or ""
        if tag == "form":
            self.inside = have.get("id") == "builder"
        if not self.inside:
            return
        if tag == "input" and name and (have.get("type") != "checkbox" or "checked" in have):
            self.sent[name] = have.get("value") or ""
        elif tag == "textarea":
            self.area, self.sent[name] = name, ""
        elif tag == "select":
            self.select, self.first = name, True
        elif tag == "option" and self.select and (self.first or "selected" in have):
            self.sent[self.select] = have.get("value") or ""
            self.option = None if "value" in have else self.select
            self.first = False

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self.area = ""
        elif tag == "select":
            self.select = ""
        elif tag == "option":
            self.option = None
        elif tag == "form":
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.area:
            self.sent[self.area] += data
        elif self.option:
            self.sent[self.option] += data


def fields_of(response: Any) -> dict[str, str]:
    reader = Fields()
    reader.feed(response.content.decode())
    reader.sent.pop("csrfmiddlewaretoken", None)
    return reader.sent


@pytest.fixture
def client(alice: User, client_for: Callable[[User], Client]) -> Client:
    return client_for(alice)


def begun(client: Client) -> Any:
    """Begin a blank sequence and return its page."""
    return client.get(client.post(BEGIN).url)


def newest() -> SequenceDraft:
    return SequenceDraft.objects.latest("created_at")


def press(client: Client, page: str, action: str, fields: dict[str, str], **more: str) -> Any:
    """Press a button of the page as it is now; `NEW` is that of the newest draft."""
    if page == NEW:
        page = reverse("sequences:draft_edit", args=[newest().pk])
    now = {"revision": fields_of(client.get(page))["revision"]}
    return client.post(page, {**fields, **now, **more, "action": action})


def filled(client: Client, **more: str) -> dict[str, str]:
    """Return the fields of a new sequence that can be published."""
    return {**fields_of(begun(client)), "name": "Shout", "description": "Shouts.", **more}


def test_a_new_sequence_starts_with_a_schema_that_is_valid(client: Client) -> None:
    page = begun(client)
    assert page.status_code == 200
    assert '"type": "object"' in fields_of(page)["schema"]
    assert "steps-0-tool" in fields_of(page)


def test_the_chosen_tool_brings_its_inputs_the_required_ones_first(client: Client) -> None:
    workshop.make("echo", input_schema=TYPED_SCHEMA)
    page = press(client, NEW, "refresh", filled(client), **{"steps-0-tool": "echo"})
    sent = fields_of(page)
    names = [sent[f"steps-0-in-{row}-name"] for row in range(5)]
    assert names == ["text", "times", "loud", "mode", "tags"]
    assert (sent["steps-0-in-0-source"], sent["steps-0-in-0-value"]) == ("initialInput", "text")
    assert sent["steps-0-in-1-source"] == "static"
    assert sent["steps-0-in-2-source"] == ""
    assert "whole number · How often." in page.content.decode()


def test_saving_keeps_every_value_in_the_type_of_the_tools_schema(
    client: Client, alice: User
) -> None:
    workshop.make("echo", input_schema=TYPED_SCHEMA)
    shown = press(client, NEW, "refresh", filled(client), **{"steps-0-tool": "echo"})
    values = {
        **fields_of(shown),
        **{"steps-0-in-1-value": "3", "steps-0-in-2-source": "static"},
        **{"steps-0-in-2-value": "false", "steps-0-in-3-source": "static"},
        **{"steps-0-in-3-value": "upper", "steps-0-in-4-source": "static"},
        **{"steps-0-in-4-value": '["a"]', "steps-0-store_as": "said", "steps-0-continue": "1"},
        **{"steps-0-attempts": "3", "steps-0-backoff": "1.5", "steps-0-timeout": "9"},
        **{"steps-0-success": "Said {{ result }}", "steps-0-failure": "No: {{ error.message }}"},
    }
    answer = press(client, NEW, "publish", values)
    tool = Tool.objects.get(kind="sequence")
    assert answer.url == reverse("sequences:sequence_edit", args=[tool.pk])
    assert tool.definition is not None
    step = tool.definition["steps"][0]
    statics = {name: source.get("value") for name, source in step["inputMapping"].items()}
    assert statics == {"text": None, "times": 3, "loud": False, "mode": "upper", "tags": ["a"]}
    assert step["inputMapping"]["text"] == {"source": "initialInput", "key": "text"}
    assert step["retry"] == {"attempts": 3, "backoffSeconds": 1.5}
    assert (step["storeOutputAs"], step["continueOnFailure"], step["timeoutSeconds"]) == (
        *("said", True),
        9,
    )
    again = fields_of(client.get(answer.url))
    press(client, answer.url, "publish", again)
    tool.refresh_from_db()
    assert tool.version == 1, "showing and saving it again changes nothing"


@pytest.mark.parametrize(
    ("row", "text", "message"),
    [
        (1, "three", "The value of “times” must be a whole number"),
        (2, "maybe", "The value of “loud” must be true or false"),
        (4, "[oops", "The value of “tags” must be a list"),
    ],
)
def test_a_value_of_the_wrong_type_is_told_beside_its_row_and_kept(
    client: Client, row: int, text: str, message: str
) -> None:
    workshop.make("echo", input_schema=TYPED_SCHEMA)
    shown = press(client, NEW, "refresh", filled(client), **{"steps-0-tool": "echo"})
    more = {f"steps-0-in-{row}-source": "static", f"steps-0-in-{row}-value": text}
    page = press(client, NEW, "publish", {**fields_of(shown), "steps-0-in-1-value": "1", **more})
    assert page.status_code == 422
    assert message in page.content.decode()
    assert f'id="steps-0-in-{row}-error"' in page.content.decode()
    assert fields_of(page)[f"steps-0-in-{row}-value"] == text


def test_nothing_typed_is_lost_by_any_button(client: Client) -> None:
    workshop.make("echo", input_schema=TYPED_SCHEMA)
    shown = press(client, NEW, "refresh", filled(client), **{"steps-0-tool": "echo"})
    typed = {
        **fields_of(shown),
        **{"steps-0-in-1-source": "template", "steps-0-in-1-value": "{{ initial.text }} <b>"},
        **{"schema": "{not json", "steps-0-success": "a\nb", "visibility": "public"},
    }
    for action in ("add-step", "refresh", "move-down-7", "remove-row-9-9", "nonsense", "publish"):
        page = press(client, NEW, action, typed)
        kept = fields_of(page) | {"revision": typed["revision"]}
        assert {name: kept.get(name) for name in typed} == typed, action


def test_steps_are_added_moved_and_taken_out(client: Client) -> None:
    fields = filled(client, **{"steps-0-tool": "first"})
    two = fields_of(press(client, NEW, "add-step", fields))
    two["steps-1-tool"] = "second"
    moved = fields_of(press(client, NEW, "move-up-1", two))
    assert (moved["steps-0-tool"], moved["steps-1-tool"]) == ("second", "first")
    moved = fields_of(press(client, NEW, "move-down-0", moved))
    assert (moved["steps-0-tool"], moved["steps-1-tool"]) == ("first", "second")
    left = fields_of(press(client, NEW, "remove-step-0", moved))
    assert left["steps-0-tool"] == "second"
    assert "steps-1-tool" not in left


def test_the_keyboard_goes_to_the_step_that_was_added(client: Client) -> None:
    page = press(client, NEW, "add-step", filled(client)).content.decode()
    assert page.count("autofocus") == 1
    assert page.index('id="steps-1-tool"') < page.index("autofocus")


def test_rows_of_ones_own_are_added_and_taken_out(client: Client) -> None:
    workshop.make("echo")
    shown = fields_of(press(client, NEW, "add-row-0", filled(client), **{"steps-0-tool": "echo"}))
    shown["steps-0-in-0-name"] = "extra"
    kept = fields_of(press(client, NEW, "refresh", shown))
    assert kept["steps-0-in-0-name"] == "extra"
    gone = fields_of(press(client, NEW, "remove-row-0-0", kept))
    assert "steps-0-in-0-name" not in gone


def test_the_output_is_mapped_from_the_outputs_of_the_steps(client: Client) -> None:
    workshop.make("echo")
    fields = filled(client, **{"steps-0-tool": "echo", "steps-0-store_as": "said"})
    shown = fields_of(press(client, NEW, "add-final", fields))
    shown |= {"final-0-name": "all", "final-0-value": "said", "final-0-path": "text"}
    press(client, NEW, "publish", shown)
    tool = Tool.objects.get(kind="sequence")
    assert tool.definition is not None
    assert tool.definition["finalOutputMapping"] == {
        "all": {"source": "previousStep", "step": "said", "path": "text"}
    }
    bare = press(client, NEW, "remove-final-0", shown)
    assert "final-0-name" not in fields_of(bare)


def test_rows_without_a_name_twice_or_without_a_source_are_told(client: Client) -> None:
    workshop.make("echo")
    rows = {
        **{"steps-0-in-0-name": "a", "steps-0-in-0-source": "static", "steps-0-in-0-value": "1"},
        **{"steps-0-in-1-name": "a", "steps-0-in-1-source": "static", "steps-0-in-1-value": "2"},
        **{"steps-0-in-2-name": "", "steps-0-in-2-source": "static", "steps-0-in-2-value": "3"},
        **{"steps-0-in-3-name": "b", "steps-0-in-3-source": "", "steps-0-in-3-value": "4"},
    }
    page = press(client, NEW, "publish", filled(client), **{"steps-0-tool": "echo"}, **rows)
    text = page.content.decode()
    assert page.status_code == 422
    assert "“a” is given twice" in text
    assert "Give this input a name" in text
    assert "Choose where the value comes from" in text


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", "", "Give the sequence a name."),
        ("description", " ", "Say what the sequence does"),
        ("schema", '{\n"type": }', "This is not JSON: line 2, column 9"),
        ("schema", '{"type": "array"}', "The input schema is not valid"),
        ("schema", "[" * 100_000, "nested too deeply"),
        ("visibility", "team", "Choose one of your own teams"),
        ("visibility", "secret", "Choose one of private, team, public."),
        ("steps-0-tool", "", "must not be empty"),
        ("steps-0-tool", "no_such_tool", "does not exist, or you may not use it"),
        ("steps-0-timeout", "soon", "must be a whole number"),
        ("steps-0-timeout", "900", "must be at most 300"),
        ("steps-0-attempts", "99", "must be at most 10"),
        ("steps-0-version", "7", "has no version 7"),
        ("steps-0-store_as", "not a name", "letters, digits and underscores"),
        ("steps-0-success", "{{ open", "not closed"),
    ],
)
def test_each_problem_is_told_in_words(
    client: Client, field: str, value: str, message: str
) -> None:
    workshop.make("echo")
    fields = filled(client, **{"steps-0-tool": "echo"})
    page = press(client, NEW, "publish", fields, **{field: value})
    assert page.status_code == 422
    assert message in page.content.decode().replace("&quot;", '"')
    assert not Tool.objects.filter(kind="sequence").exists()


def test_htmx_gets_the_form_alone_and_a_redirect_when_it_is_saved(client: Client) -> None:
    workshop.make("echo")
    fields = {**filled(client, **{"steps-0-tool": "echo"}), "action": "add-step"}
    page = reverse("sequences:draft_edit", args=[newest().pk])
    added = client.post(page, fields, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in added
    assert 'id="steps-1-tool"' in added
    again = {**fields, "revision": str(newest().revision), "action": "publish"}
    answer = client.post(page, again, headers={"HX-Request": "true"})
    tool = Tool.objects.get(kind="sequence")
    assert answer.headers["HX-Redirect"] == reverse("sequences:sequence_edit", args=[tool.pk])


def test_save_and_run_leads_to_the_form_that_runs_it(client: Client) -> None:
    workshop.make("echo")
    answer = press(client, NEW, "publish-run", filled(client, **{"steps-0-tool": "echo"}))
    tool = Tool.objects.get(kind="sequence")
    assert answer.url == reverse("sequences:run_start", args=[tool.pk])


def test_a_tool_that_was_deleted_since_is_told_when_saving(client: Client, alice: User) -> None:
    echo = workshop.make("echo")
    sequence = workshop.sequence_of(alice, workshop.step(echo))
    tool_delete(echo)
    url = reverse("sequences:sequence_edit", args=[sequence.pk])
    page = client.get(url)
    assert "There is no tool of this name that you may use" in page.content.decode()
    assert "does not exist" in press(client, url, "publish", fields_of(page)).content.decode()


def test_a_public_sequence_says_that_it_waits_for_review(client: Client) -> None:
    workshop.make("echo")
    assert "waits for a reviewer" in begun(client).content.decode()
    fields = filled(client, **{"steps-0-tool": "echo", "visibility": "public"})
    answer = press(client, NEW, "publish", fields)
    assert "Waits for review" in client.get(answer.url).content.decode()


def test_a_team_can_be_chosen_among_ones_own(client: Client, team: Group) -> None:
    factories.make_team("others")
    page = begun(client).content.decode()
    assert f">{team.name}</option>" in page
    assert ">others</option>" not in page


def test_only_the_owner_opens_the_builder(
    alice: User, bob: User, team: Group, client_for: Callable[[User], Client]
) -> None:
    sequence = workshop.sequence_of(
        alice, workshop.step(workshop.make("echo")), visibility="team", team=team
    )
    url = reverse("sequences:sequence_edit", args=[sequence.pk])
    assert client_for(bob).get(url).status_code == 404
    assert client_for(bob).post(url, {"action": "save"}).status_code == 404
    delete = reverse("sequences:sequence_delete", args=[sequence.pk])
    assert client_for(bob).post(delete).status_code == 404
    assert client_for(alice).post(delete).status_code == 302
    assert not Tool.objects.filter(pk=sequence.pk, deleted_at=None).exists()


def test_a_tool_that_is_no_sequence_has_no_builder(alice: User, client: Client) -> None:
    tool = workshop.make("echo", owner=alice)
    assert client.get(reverse("sequences:sequence_edit", args=[tool.pk])).status_code == 404


def test_a_stranger_is_asked_to_sign_in(db: None) -> None:
    assert Client().get(BEGIN).url == f"{reverse('login')}?next={BEGIN}"


def test_odd_field_names_are_no_steps() -> None:
    draft = draft_from_post({"steps-x-tool": "a", "steps-0": "b", "steps-0-in-y-name": "c"})
    assert draft.steps == []


def test_problems_of_rows_are_told_together_with_all_others(client: Client) -> None:
    workshop.make("echo", input_schema=TYPED_SCHEMA)
    shown = press(client, NEW, "refresh", filled(client), **{"steps-0-tool": "echo"})
    added = fields_of(press(client, NEW, "add-final", fields_of(shown)))
    more = {"steps-0-in-1-value": "three", "name": ""}
    text = press(client, NEW, "publish", added, **more).content.decode()
    assert "3 things to mend" in text
    assert "Give this input a name" in text
    assert "must be a whole number" in text
    assert "Give the sequence a name" in text


def test_a_chosen_input_is_not_offered_as_an_output(client: Client) -> None:
    workshop.make("echo", input_schema=TYPED_SCHEMA)
    shown = press(client, NEW, "refresh", filled(client), **{"steps-0-tool": "echo"})
    changed = {**fields_of(shown), "steps-0-in-0-source": "previousStep"}
    shown = press(client, NEW, "refresh", changed)
    assert fields_of(shown)["steps-0-in-0-value"] == ""
    text = press(client, NEW, "publish", fields_of(shown)).content.decode()
    assert "Choose the output of an earlier step." in text
    assert "The value of “times”" in text
    assert "2 things to mend" in text


def test_the_name_of_a_tool_that_was_deleted_is_told_at_its_step(
    client: Client, alice: User
) -> None:
    echo = workshop.make("echo")
    sequence = workshop.sequence_of(alice, workshop.step(echo))
    echo.successor = workshop.make("large")
    echo.save()
    tool_delete(echo)
    page = client.get(reverse("sequences:sequence_edit", args=[sequence.pk])).content.decode()
    assert f"“{echo.wire_name}” was deleted on" in page
    assert f"Choose “{echo.successor.wire_name}” for it" in page


def test_a_private_tool_of_another_that_was_deleted_is_not_named(
    client: Client, alice: User, bob: User
) -> None:
    secret = workshop.make("echo", owner=bob, visibility="private", wire_name="secret_plan")
    sequence = workshop.sequence_of(alice, workshop.step(secret))
    tool_delete(secret)
    page = client.get(reverse("sequences:sequence_edit", args=[sequence.pk])).content.decode()
    assert "secret_plan" not in page


INPUTS = '{"type": "object", "properties": {"text": {"type": "string"}}, "required": %s}'


def test_a_change_that_breaks_others_is_saved_only_when_agreed_to(
    client: Client, alice: User
) -> None:
    inner = workshop.sequence_of(alice, workshop.step(workshop.make("echo")), title="Inner")
    workshop.sequence_of(alice, workshop.step(inner), title="Outer")
    url = reverse("sequences:sequence_edit", args=[inner.pk])
    fields = {**fields_of(client.get(url)), "schema": INPUTS % '["text"]', "description": "Typed."}
    answer = press(client, url, "publish", fields)
    page = answer.content.decode()
    assert answer.status_code == 422 and "Typed." in page
    assert "Not saved yet: This breaks 1 sequence: “Outer”." in page
    assert f"“{inner.wire_name}” needs “text”" in page
    inner.refresh_from_db()
    assert inner.version == 1

    assert press(client, url, "publish", {**fields, "agreed": "x"}).status_code == 422
    agreed = re.search(r'name="agreed" value="(\w{64})"', page)
    assert agreed is not None
    assert press(client, url, "publish", {**fields, "agreed": agreed[1]}).status_code == 302
    inner.refresh_from_db()
    assert (inner.version, inner.description) == (2, "Typed.")


def test_a_change_that_pins_keep_from_others_is_saved_at_once(client: Client, alice: User) -> None:
    inner = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    workshop.sequence_of(alice, workshop.step(inner, toolVersion=1))
    url = reverse("sequences:sequence_edit", args=[inner.pk])
    fields = {**fields_of(client.get(url)), "schema": INPUTS % '["text"]'}
    assert press(client, url, "publish", fields).status_code == 302


def test_what_is_wrong_is_told_before_what_it_breaks(client: Client, alice: User) -> None:
    inner = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    workshop.sequence_of(alice, workshop.step(inner))
    url = reverse("sequences:sequence_edit", args=[inner.pk])
    fields = {**fields_of(client.get(url)), "schema": INPUTS % '["text"]', "name": ""}
    page = press(client, url, "publish", fields).content.decode()
    assert "Give the sequence a name." in page and "Not saved yet" not in page


def test_who_uses_a_sequence_is_shown_before_it_is_deleted(client: Client, alice: User) -> None:
    inner = workshop.sequence_of(alice, workshop.step(workshop.make("echo")), title="Inner")
    workshop.sequence_of(alice, workshop.step(inner), title="Outer")
    url = reverse("sequences:sequence_delete", args=[inner.pk])
    page = client.get(url).content.decode()
    assert "This breaks 1 sequence: “Outer”." in page and "Delete Inner anyway" in page
    assert Tool.objects.filter(pk=inner.pk, deleted_at=None).exists()
