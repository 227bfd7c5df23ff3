"""Programs as a tool: every inner call goes through the door, and all of it can be seen."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import AgentTool
from agents.models.agent_tool import Approval
from registry import errors
from registry.approval import Effect, Policy, Verdict
from registry.context import CallContext
from registry.execution import invoke
from registry.executors import base
from registry.executors.base import Output
from registry.loading import load_spec
from registry.models import Invocation, Tool
from registry.models.invocation import Caller, Outcome
from registry.models.tool import Health
from registry.results import Failed, Succeeded
from registry.specs import ToolSpec
from registry.toolset import Toolset
from tests.factories import (
    make_agent,
    make_builtin,
    make_package,
    make_run_code,
    make_sequence,
    make_tool,
    make_user,
)

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("sandbox_service"),
]

Run = Callable[..., Succeeded | Failed]


def denying(tool: Tool, effect: Effect = Effect.DENY) -> Policy:
    def policy(spec: ToolSpec) -> Verdict:
        return Verdict(effect=effect if spec.tool_id == tool.pk else Effect.ALLOW)

    return policy


@pytest.fixture
def run(alice: User) -> Run:
    """Return a function that runs a program as Alice, with these tools to call."""
    spec = load_spec(make_run_code())

    def act(code: str, *tools: Tool, **circumstances: Any) -> Succeeded | Failed:
        def offered() -> Mapping[str, ToolSpec]:
            return Toolset([*(load_spec(tool) for tool in tools), spec])

        context = CallContext(
            **{"user": alice, "caller": Caller.REST, "tools": offered, **circumstances}
        )
        return invoke(spec, {"code": code}, context)

    return act


def inside(result: Succeeded | Failed) -> list[Invocation]:
    return list(Invocation.objects.filter(parent_id=result.invocation_id).order_by("created_at"))


def test_only_what_the_program_comes_to_is_the_output(run: Run) -> None:
    code = """
sums = await asyncio.gather(*(tool_call("calculator", expression=f"{n} * {n}") for n in range(3)))
print("worked it out")
sum(answer["result"] for answer in sums)
"""
    result = run(code, make_builtin("calculator"))
    assert isinstance(result, Succeeded)
    assert result.output == {"result": 5, "printed": "worked it out\n", "calls": 3}
    assert result.details is not None
    assert result.details["invocation"] == str(result.invocation_id)
    assert [call["status"] for call in result.details["calls"]] == ["succeeded"] * 3
    rows = inside(result)
    assert {row.caller for row in rows} == {Caller.CODE}
    assert sorted(row.arguments["expression"] for row in rows) == ["0 * 0", "1 * 1", "2 * 2"]
    assert Invocation.objects.get(pk=result.invocation_id).parent_id is None


def test_each_call_is_told_as_it_happens(run: Run) -> None:
    notes: list[Any] = []
    code = "await calculator(expression='1+1')\nawait tool_call('calculator', expression='1/0')"
    run(code, make_builtin("calculator"), progress=notes.append)
    assert [(note["step"], note["status"]) for note in notes] == [
        (1, "running"),
        (1, "succeeded"),
        (2, "running"),
        (2, "failed"),
    ]


def test_arguments_are_checked_against_the_schema_of_the_inner_tool(run: Run) -> None:
    code = "try:\n    await calculator(x=1)\nexcept ToolCallError as e:\n    r = e.code\nr"
    result = run(code, make_builtin("calculator"))
    assert isinstance(result, Succeeded)
    assert result.output["result"] == "invalid_arguments"
    assert [(row.outcome, row.phase) for row in inside(result)] == [(Outcome.FAILED, "validate")]


def test_a_tool_that_the_agent_denies_can_be_caught_and_is_recorded(run: Run) -> None:
    tool = make_builtin("calculator")
    code = """
try:
    await calculator(expression="1+1")
except ToolCallError as error:
    told = [error.code, error.hint]
told
"""
    result = run(code, tool, policy=denying(tool))
    assert isinstance(result, Succeeded)
    assert result.output["result"][0] == "approval_denied"
    assert "approval policy" in result.output["result"][1]
    assert [(row.error_code, row.phase) for row in inside(result)] == [
        ("approval_denied", "approval")
    ]


def test_who_approves_a_program_has_not_approved_what_it_calls(run: Run) -> None:
    calculator = make_builtin()
    code = 'await tool_call("calculator", expression="1")'
    result = run(code, calculator, policy=denying(calculator, Effect.ASK), approved=True)

    assert isinstance(result, Failed)
    assert "A person has to approve calculator first." in result.error.message
    assert not inside(result)


def test_a_tool_whose_scope_is_not_granted_is_refused_inside_too(run: Run) -> None:
    tool = make_builtin("calculator", required_scopes=["sums:do"])
    result = run("await calculator(expression='1+1')", tool, scopes=frozenset())
    assert isinstance(result, Failed)
    assert "requires the scope sums:do" in result.error.message
    assert [row.error_code for row in inside(result)] == ["permission_refused"]


def test_a_program_cannot_run_a_program(run: Run) -> None:
    result = run("await tool_call('run_code', code='1')")
    assert isinstance(result, Failed)
    assert "There is no tool named “run_code” here" in result.error.message
    assert inside(result) == []


def test_a_program_can_call_a_sequence(run: Run, alice: User) -> None:
    sequence = make_sequence(alice, wire_name="work_out")
    result = run("(await work_out(text='6*7'))[0]['output']['result']", sequence)
    assert isinstance(result, Succeeded), result
    assert result.output["result"] == 42


def test_inner_tools_get_their_own_variables_and_their_values_stay_hidden(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Telling:
        def execute(self, spec: ToolSpec, arguments: Any, context: CallContext) -> Output:
            return Output(value={"seen": dict(context.env(["THE_KEY", "OTHER_KEY"]))})

    real = base.executor_for
    monkeypatch.setattr(
        "registry.execution.executor_for",
        lambda kind: Telling() if kind == "npm" else real(kind),
    )
    from tests.factories import make_package

    package = make_package(env=[{"name": "THE_KEY", "description": "", "required": True}])
    tool = make_tool(package=package, wire_name="teller")
    values = {"THE_KEY": "sk-canary-1234567890", "OTHER_KEY": "sk-other-1234567890"}
    result = run(
        "await teller(text='x')",
        tool,
        env=lambda names: {name: values[name] for name in names},
    )
    assert isinstance(result, Succeeded), result
    assert set(result.output["result"]["seen"]) == {"THE_KEY"}
    assert "sk-canary" not in str(result.output)
    assert "sk-canary" not in str([row.output for row in Invocation.objects.all()])


def test_a_failing_program_keeps_what_it_had_done(run: Run) -> None:
    code = "print('so far')\nawait calculator(expression='2+2')\nundefined"
    result = run(code, make_builtin("calculator"))
    assert isinstance(result, Failed)
    assert result.error.code == "code_failed"
    assert result.error.message.endswith("line 3, in <module>: undefined")
    assert result.error.extra["printed"] == "so far\n"
    assert result.error.extra["calls"] == 1
    assert result.details is not None
    assert result.details["calls"][0]["tool"] == "calculator"
    row = Invocation.objects.get(pk=result.invocation_id)
    assert row.arguments == {"code": code}
    assert row.error["code"] == "code_failed"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os\nos._exit(1)", "tool_crashed"),
        ("x = 'x' * 2 ** 31", "out_of_memory"),
        ("'x' * 2_000_000", "output_too_large"),
    ],
)
def test_a_bad_program_is_the_fault_of_who_wrote_it_not_of_the_tool(
    run: Run, code: str, reason: str
) -> None:
    result = run(code)
    assert isinstance(result, Failed)
    assert (result.error.code, result.error.extra["reason"]) == ("code_failed", reason)
    assert Tool.objects.get(wire_name="run_code").execution_health != Health.BROKEN


def test_a_program_that_takes_too_long_is_stopped(alice: User) -> None:
    spec = load_spec(make_run_code(timeout_seconds=1))
    result = invoke(spec, {"code": "while True: pass"}, CallContext(user=alice, caller=Caller.REST))
    assert isinstance(result, Failed)
    assert result.error.message == "The code did not end within 1 seconds."


def test_cancelling_ends_the_program_and_is_told_as_such(run: Run) -> None:
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    result = run("import time\ntime.sleep(60)", cancel=cancel)
    assert isinstance(result, Failed)
    assert isinstance(result.error, errors.CallCancelled)


def test_a_program_without_a_running_sandbox_is_refused_with_what_to_do(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDBOX_SOCKET", "/nowhere/sandboxd.sock")
    spec = load_spec(make_run_code())
    result = invoke(spec, {"code": "1"}, CallContext(user=alice, caller=Caller.REST))
    assert isinstance(result, Failed)
    assert result.error.code == "sandbox_unavailable"
    assert "make run" in result.error.hint


# Through REST and the pages


@pytest.fixture
def ran(run: Run) -> Succeeded | Failed:
    return run(
        "print('hello from it')\nawait calculator(expression='6*7')", make_builtin("calculator")
    )


def test_rest_runs_a_program_without_tools_unless_an_agent_is_named(
    alice: User, client_for: Callable[[User], Client]
) -> None:
    tool, calculator = make_run_code(), make_builtin("calculator")
    agent = make_agent(alice, calculator)
    client, url = client_for(alice), f"/api/v1/tools/{tool.pk}/run/"
    body = {"arguments": {"code": "(await calculator(expression='6*7'))['result']"}}
    refused = client.post(url, body, "application/json")
    assert refused.json()["code"] == "code_failed"
    assert "NameError" in refused.json()["message"]
    answer = client.post(url, {**body, "agent": agent.slug}, "application/json")
    assert answer.status_code == 200
    assert answer.json()["output"] == {"result": 42, "printed": "", "calls": 1}


def test_an_agents_denied_link_is_not_among_what_a_program_may_call(
    alice: User, client_for: Callable[[User], Client]
) -> None:
    tool, calculator = make_run_code(), make_builtin("calculator")
    agent = make_agent(alice, calculator)
    AgentTool.objects.update(approval=Approval.DENY)
    body = {"arguments": {"code": "await tool_call('calculator', expression='1')"}}
    url = f"/api/v1/tools/{tool.pk}/run/"
    answer = client_for(alice).post(url, {**body, "agent": agent.slug}, "application/json")
    assert "There is no tool named “calculator” here" in answer.json()["message"]


def test_rest_tells_a_call_with_the_calls_inside(
    ran: Succeeded, alice: User, client_for: Callable[[User], Client]
) -> None:
    answer = client_for(alice).get(f"/api/v1/invocations/{ran.invocation_id}/")
    assert answer.status_code == 200
    told = answer.json()
    assert (told["tool"], told["status"], told["parentId"]) == ("run_code", "succeeded", None)
    assert [(child["tool"], child["caller"]) for child in told["children"]] == [
        ("calculator", "code")
    ]
    assert told["children"][0]["parentId"] == told["id"]
    assert told["children"][0]["output"]["result"] == 42


def test_the_page_of_a_call_shows_code_output_and_every_inner_call(
    ran: Succeeded, alice: User, client_for: Callable[[User], Client]
) -> None:
    page = client_for(alice).get(f"/invocations/{ran.invocation_id}/").content.decode()
    for text in ("calculator(expression=", "hello from it", "Calls it made (1)", "6*7", "42"):
        assert text in page
    child = inside(ran)[0]
    assert f"/invocations/{child.pk}/" in page
    inner = client_for(alice).get(f"/invocations/{child.pk}/").content.decode()
    assert f"/invocations/{ran.invocation_id}/" in inner
    assert "The program that made this call" in inner


def test_the_page_of_a_failed_program_shows_the_error_with_its_line(
    run: Run, alice: User, client_for: Callable[[User], Client]
) -> None:
    result = run("print('so far')\n1 / 0")
    page = client_for(alice).get(f"/invocations/{result.invocation_id}/").content.decode()
    for text in ("ZeroDivisionError", "line 2", "so far", "code_failed", "It called no tool."):
        assert text in page


@pytest.mark.parametrize("path", ["/invocations/{}/", "/api/v1/invocations/{}/"])
def test_nobody_but_its_caller_and_governance_sees_a_call(
    path: str, ran: Succeeded, client_for: Callable[[User], Client]
) -> None:
    url = path.format(ran.invocation_id)
    assert client_for(make_user("eve")).get(url).status_code == 404
    assert client_for(make_user("warden", is_superuser=True)).get(url).status_code == 200
    assert Client().get(url).status_code in {302, 401, 403}


def test_the_tools_page_leads_to_each_call(
    ran: Succeeded, alice: User, client_for: Callable[[User], Client]
) -> None:
    tool = Tool.objects.get(wire_name="run_code")
    page = client_for(alice).get(f"/tools/{tool.pk}/").content.decode()
    assert f"/invocations/{ran.invocation_id}/" in page


def test_a_program_is_tried_on_the_tools_page(
    alice: User, client_for: Callable[[User], Client]
) -> None:
    tool = make_run_code()
    page = client_for(alice).post(f"/tools/{tool.pk}/try/", {"code": "sum(range(5))"})
    assert page.status_code == 200
    assert "&quot;result&quot;: 10" in page.content.decode()
    assert "See the call" in page.content.decode()


def test_a_program_that_puts_a_key_together_from_parts_does_not_show_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "canary-7d1c0a9e5b"

    class Telling:
        def execute(self, spec: ToolSpec, arguments: Any, context: CallContext) -> Output:
            half = context.env(["KEY"])["KEY"]
            return Output(value=half[:9] if arguments["text"] == "first" else half[9:])

    real = base.executor_for
    monkeypatch.setattr(
        "registry.execution.executor_for", lambda kind: Telling() if kind == "npm" else real(kind)
    )
    tool = make_tool(package=make_package(env=[{"name": "KEY"}]), wire_name="tell")
    code = """
whole = await tool_call("tell", text="first") + await tool_call("tell", text="second")
print(whole)
whole
"""
    result = run(code, tool, env=lambda names: dict.fromkeys(names, key))

    assert isinstance(result, Succeeded)
    assert result.output["result"] == "••••••"
    assert key not in str(Invocation.objects.get(pk=result.invocation_id).output)
    failed = run(code + "\nraise ValueError(whole)", tool, env=lambda names: {"KEY": key})
    assert isinstance(failed, Failed)
    assert key not in str(failed.error.as_dict())


def test_what_a_program_called_is_told_in_short_among_its_calls(
    run: Run, alice: User, client_for: Callable[[User], Client]
) -> None:
    code = "await tool_call('change_case', text='a' * 20_000, case='upper')"
    result = run(code, make_builtin("change_case"))
    (call,) = inside(result)
    client = client_for(alice)

    told = client.get(f"/api/v1/invocations/{result.invocation_id}/").json()["children"][0]

    assert told["output"]["truncated"] is True
    page = client.get(f"/invocations/{result.invocation_id}/").content
    assert len(page) < 40_000 + len(client.get("/tools/").content)
    own = client.get(f"/api/v1/invocations/{call.pk}/").json()
    assert own["output"]["text"] == "A" * 20_000
