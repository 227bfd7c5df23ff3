"""A stop ends the calls that run, whichever process they run in; tried with real sandboxes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.db import connections

from agents.tokens import token_create
from registry.calling import call_directly, direct_context
from registry.loading import load_spec
from registry.models import Invocation, Tool
from registry.models.invocation import Caller, Decision
from registry.models.tool import Health
from registry.sandbox.client import sandbox
from registry.stopping import package_stop, tool_stop
from sequences.models import Run
from tests.factories import make_package, make_run_code, make_sequence, make_tool
from tests.live import Live, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.xdist_group("live")]

SOON = 90
"""Seconds after which a call that would run for minutes was surely not ended by a stop."""

MINUTES = {"ms": 250_000}
SLEEPS_SCHEMA = {"type": "object", "properties": {"ms": {"type": "integer"}}}


def sleeper() -> Tool:
    """Make the row of a real npm tool that does nothing for as long as it is told."""
    built = sandbox().build(ecosystem="npm", name="@outfitter-test/remembers")
    package = make_package(name=built.name, version=built.version, artifact=built.artifact)
    return make_tool(
        package=package, export_name="sleeps", input_schema=SLEEPS_SCHEMA, timeout_seconds=300
    )


def in_thread(work: Any) -> Any:
    """Start `work` in a thread and return its future."""

    def closing() -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    return ThreadPoolExecutor(1).submit(closing)


def running_calls() -> int:
    return int(sandbox().status()["running"])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", ["tool", "package"])
def test_a_call_in_the_sandbox_is_ended_and_says_why(sandbox_service, alice, governor, what):
    tool = sleeper()
    context = direct_context(alice, caller=Caller.BROWSER)
    ending = in_thread(lambda: call_directly(tool, MINUTES, context))
    eventually(lambda: running_calls() == 1, what="the call")

    if what == "tool":
        tool_stop(tool, by=governor, reason="Runs wild")
    else:
        package_stop(tool.package, by=governor, reason="Runs wild")
    result = ending.result(SOON)

    assert (result.error.code, result.error.phase) == ("tool_stopped", "execute")
    assert "was stopped while this call ran" in result.error.message
    assert result.error.message.endswith("Runs wild")
    assert not context.cancel.is_set()  # the turn or run around it goes on
    row = Invocation.objects.get(pk=result.invocation_id)
    assert (row.decision, row.phase) == (Decision.STOPPED, "execute")
    assert Tool.objects.get(pk=tool.pk).execution_health == Health.UNKNOWN
    eventually(lambda: running_calls() == 0, what="the end of the guest")


@pytest.mark.django_db(transaction=True)
def test_a_stop_ends_no_call_of_another_tool(sandbox_service, alice, governor):
    tool = sleeper()
    other = make_tool(package=tool.package, export_name="hangs")
    context = direct_context(alice, caller=Caller.BROWSER)
    ending = in_thread(lambda: call_directly(tool, {"ms": 4_000}, context))
    eventually(lambda: running_calls() == 1, what="the call")

    tool_stop(other, by=governor, reason="Not that one")

    assert ending.result(SOON).output == "slept"


def program_with(tool: Tool, code: Tool, user: Any, text: str) -> Any:
    """Start a program that may call a tool; return its future, once the tool runs."""
    spec = load_spec(tool)
    context = direct_context(user, caller=Caller.BROWSER).derive(
        tools=lambda: {spec.wire_name: spec}
    )
    text = text.replace("SLEEP", f"await {tool.wire_name}(ms=15000)")
    ending = in_thread(lambda: call_directly(code, {"code": text}, context))
    eventually(lambda: running_calls() == 1 or ending.done(), what="the inner call")
    return ending


@pytest.mark.django_db(transaction=True)
def test_a_program_is_ended_when_the_running_of_code_is_stopped(sandbox_service, alice, governor):
    tool, code = sleeper(), make_run_code(timeout_seconds=100)
    ending = program_with(tool, code, alice, "SLEEP")

    tool_stop(code, by=governor, reason="No programs today")

    assert ending.result(SOON).error.code == "tool_stopped"
    eventually(lambda: running_calls() == 0, what="the end of the inner call")


@pytest.mark.django_db(transaction=True)
def test_a_program_hears_that_a_tool_it_calls_was_stopped_and_goes_on(
    sandbox_service, alice, governor
):
    tool, code = sleeper(), make_run_code(timeout_seconds=100)
    text = "try:\n    SLEEP\nexcept Exception as error:\n    told = str(error)\ntold"
    ending = program_with(tool, code, alice, text)

    tool_stop(tool, by=governor, reason="Runs wild")

    assert "was stopped while this call ran: Runs wild" in ending.result(SOON).output["result"]


@pytest.fixture
def asked(live: Live, alice: User) -> Iterator[Callable[[Tool], httpx.Response]]:
    """Return the function that calls a tool by REST on the running product, for minutes."""
    _, token = token_create(alice, name="stops")
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=f"{live.url}/api/v1", headers=headers, timeout=90) as client:
        yield lambda tool: client.post(f"/tools/{tool.pk}/run/", json={"arguments": MINUTES})


def test_a_call_in_the_web_process_is_ended_from_another_process(asked, governor):
    tool = sleeper()
    ending = in_thread(lambda: asked(tool))
    eventually(lambda: running_calls() == 1, what="the call")

    tool_stop(tool, by=governor, reason="Runs wild")
    answer = ending.result(SOON)

    assert (answer.status_code, answer.json()["code"]) == (403, "tool_stopped")
    assert "while this call ran" in answer.json()["message"]
    again = asked(tool)
    assert (again.status_code, again.json()["extra"]["phase"]) == (403, "permission")


@pytest.mark.parametrize("which", ["the tool of a step", "the sequence"])
def test_a_run_in_the_worker_ends_with_the_reason(asked, alice, governor, which):
    tool = sleeper()
    sequence = make_sequence(
        alice,
        definition={
            "format": 1,
            "steps": [
                {
                    "stepNumber": 1,
                    "toolToRunId": str(tool.pk),
                    "inputMapping": {"ms": {"source": "initialInput", "key": "ms"}},
                    "storeOutputAs": "slept",
                    "timeoutSeconds": 280,
                }
            ],
        },
        input_schema=SLEEPS_SCHEMA,
    )
    launched = asked(sequence)
    assert launched.status_code == 202, launched.text
    eventually(lambda: running_calls() == 1, what="the step")

    stopped = sequence if which == "the sequence" else tool
    tool_stop(stopped, by=governor, reason="Runs wild")

    run = Run.objects.get(pk=launched.json()["run"])

    def ended() -> bool:
        run.refresh_from_db()
        return bool(run.is_finished)

    eventually(ended, seconds=SOON, what="the end of the run")
    assert (run.status, run.error["code"]) == ("failed", "tool_stopped")
    assert run.error["message"].endswith("Runs wild")
    eventually(lambda: running_calls() == 0, what="the end of the guest")
