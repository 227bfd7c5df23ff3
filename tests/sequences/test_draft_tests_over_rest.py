"""Tests of a draft by REST: runs with real calls, what each step gave, samples."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from registry.models import Tool
from sequences.models import Run
from sequences.running import execute
from tests.sequences import workshop
from tests.sequences.drafts_by_rest import (
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


@pytest.fixture
def address(call: Caller, echo: Tool) -> str:
    """Return the address of a draft of two steps; the second reads what the first gives."""
    definition = definition_of(echo)
    read = {"text": {"source": "previousStep", "step": "said", "path": "text"}}
    second = workshop.step(echo, 2, key="again", inputMapping=read, storeOutputAs="again")
    definition["steps"].append(second)
    return f"{DRAFTS}{begun(call, fields_of(echo, definition=definition))['id']}/"


def try_out(call: Caller, address: str, body: Any) -> Any:
    """Start a test, have it run, and return it."""
    answer = call("post", f"{address}tests/", body)
    assert answer.status_code == 202, answer.content
    execute(Run.objects.get(pk=answer.json()["id"]).pk)
    return call("get", answer["Location"]).json()


def known(call: Caller, address: str) -> dict[str, tuple[str, Any]]:
    steps = call("get", f"{address}outputs/").json()
    return {step["key"]: (step["state"], step["output"]) for step in steps}


def test_a_draft_is_tested_as_a_whole_and_what_its_steps_gave_is_told(
    call: Caller, address: str
) -> None:
    assert known(call, address) == {"said": ("", None), "again": ("", None)}
    run = try_out(call, address, {"input": {"text": "hi"}})
    assert (run["status"], run["caller"], run["version"]) == ("succeeded", "rest", None)
    gave = {"text": "hi"}
    assert known(call, address) == {"said": ("fresh", gave), "again": ("fresh", gave)}
    listed = call("get", f"{address}tests/").json()["results"]
    assert [row["id"] for row in listed] == [run["id"]]


def test_one_step_is_tested_with_what_was_said_for_the_one_before(
    call: Caller, address: str
) -> None:
    early = call("post", f"{address}tests/", {"first": "again", "input": {"text": "hi"}})
    assert (early.status_code, early.json()["code"]) == (400, "not_tested_yet")
    said = call("put", f"{address}outputs/said/", {"output": {"text": "by hand"}})
    assert (said.status_code, said.json()["state"]) == (200, "edited")
    try_out(call, address, {"first": "again", "last": "again", "input": {"text": "hi"}})
    assert known(call, address)["again"] == ("fresh", {"text": "by hand"})
    assert call("delete", f"{address}outputs/said/").status_code == 204
    assert call("get", f"{address}outputs/said/").json()["state"] == ""


@pytest.mark.parametrize("body", [{"first": "nope"}, {"last": "nope"}, {"item": 0, "last": "nope"}])
def test_a_step_that_is_not_there_is_not_tested(
    call: Caller, address: str, body: dict[str, Any]
) -> None:
    answer = call("post", f"{address}tests/", {**body, "input": {"text": "hi"}})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    for method in ("get", "put", "delete"):
        missing = call(method, f"{address}outputs/nope/", {"output": 1})
        assert missing.status_code == 404, method


def test_a_step_without_a_loop_has_no_items(call: Caller, address: str) -> None:
    answer = call("post", f"{address}tests/", {"last": "said", "item": 0, "input": {"text": "a"}})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


def test_steps_whose_definition_gives_them_no_key_are_tested_alone_too(
    call: Caller, echo: Tool
) -> None:
    definition = definition_of(echo)
    del definition["steps"][0]["key"]
    draft = begun(call, fields_of(echo, definition=definition))
    address = f"{DRAFTS}{draft['id']}/"
    (key,) = known(call, address)
    try_out(call, address, {"first": key, "last": key, "input": {"text": "hi"}})
    assert known(call, address)[key] == ("fresh", {"text": "hi"})


def test_a_sample_is_kept_replaced_used_and_taken_out(call: Caller, address: str) -> None:
    first = call("post", f"{address}samples/", {"name": "Short", "input": {"text": "a"}})
    assert first.status_code == 201
    call("post", f"{address}samples/", {"name": "Short", "input": {"text": "b"}})
    (sample,) = call("get", f"{address}samples/").json()
    assert (sample["id"], sample["input"]) == (first.json()["id"], {"text": "b"})
    assert try_out(call, address, {"sample": sample["id"]})["input"] == {"text": "b"}
    assert try_out(call, address, {})["input"] == {"text": "b"}
    one = f"{address}samples/{sample['id']}/"
    assert call("get", one).json()["name"] == "Short"
    assert call("delete", one).status_code == 204
    assert call("delete", one).status_code == 404
    assert call("post", f"{address}tests/", {"sample": sample["id"]}).status_code == 404


def test_an_input_that_does_not_fit_starts_nothing(call: Caller, address: str) -> None:
    answer = call("post", f"{address}tests/", {"input": {"text": 7}})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_arguments")
    assert not Run.objects.exists()


def test_a_draft_whose_inputs_cannot_be_read_is_not_tested(call: Caller, address: str) -> None:
    call("patch", address, {"inputSchema": {"type": "wrong"}})
    answer = call("post", f"{address}tests/", {"input": {}})
    assert answer.status_code == 400
    assert "input schema is not valid" in answer.json()["message"]


def test_a_test_may_do_no_more_than_the_token_that_started_it(
    call: Caller, address: str, alice: User, echo: Tool
) -> None:
    limited = Caller(alice, "tools:run", "tools:write", "tools:read")
    try_out(limited, address, {"input": {"text": "hi"}})
    assert Run.objects.get().scopes == ["tools:read", "tools:run", "tools:write"]
    Tool.objects.filter(pk=echo.pk).update(required_scopes=["mail:send"])
    run = try_out(limited, address, {"input": {"text": "hi"}})
    assert (run["status"], run["error"]["code"]) == ("failed", "permission_refused")
    for scope in ("tools:run", "tools:write"):
        assert Caller(alice, scope)("post", f"{address}tests/").status_code == 403
