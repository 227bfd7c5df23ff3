"""The test bench: what it tries, what it keeps, who may see it."""

import threading
from datetime import timedelta

import pytest
from django.db import connections
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError

from agents.models import Agent, AgentTool
from agents.services import credential_set
from chat import bench, bench_running
from chat.bench import case_create, cases_import, cases_of, flips_between, lines_of, results_of
from chat.bench_running import bench_request, bench_run, bench_stop, benches_resume
from chat.errors import BenchRunning
from chat.models import BenchResult, BenchRun, ModelStep
from chat.models.bench import BenchState
from config.lib.errors import Conflict, InvalidInput, NotFound
from registry.models import Invocation
from tests import factories
from tests.fakes.model_server import MODEL, Call

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def agent(alice) -> Agent:
    calculator = factories.make_builtin("calculator")
    return factories.make_agent(alice, calculator, model=MODEL, slug="helper")


@pytest.fixture
def sent(monkeypatch) -> list[str]:
    """Keep what is handed to the worker."""
    tasks: list[str] = []
    monkeypatch.setattr(
        bench_running.current_app, "send_task", lambda name, args, **_: tasks.append(args[0])
    )
    return tasks


def ran(agent: Agent, **fields: str) -> tuple[BenchRun, list[BenchResult]]:
    run = bench_request(agent, by=agent.owner, **fields)
    bench_run(run.pk)
    run.refresh_from_db()
    return run, list(results_of(run))


def test_the_first_call_is_written_down_and_not_made(agent, model, sent):
    case_create(agent, prompt="What is 17*23?", tool="calculator")
    model.calls(Call("calculator", {"expression": "17*23"}))
    run, [result] = ran(agent)
    assert sent == [str(run.pk)]
    assert run.state == BenchState.DONE
    assert (result.called, result.arguments) == ("calculator", {"expression": "17*23"})
    assert (result.passed, result.offered, result.problem) == (True, True, "")
    assert (result.input_tokens, result.output_tokens) != (0, 0)
    assert len(model.requests) == 1
    assert not Invocation.objects.exists(), "nothing was run"


def test_a_search_of_the_model_is_answered_and_what_it_finds_is_offered(alice, model, sent):
    agent = factories.make_agent(alice, model=MODEL)
    factories.make_builtin("calculator")
    case_create(agent, prompt="Hello there", tool="calculator")
    model.calls(Call("search_tools", {"need": "calculate a sum with the calculator"}))
    model.calls(Call("calculator", {"expression": "1+1"}))
    _, [result] = ran(agent)
    assert (result.called, result.searches, result.offered) == ("calculator", 1, True)
    assert result.passed
    assert "calculator" in model.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("tool", "call", "passed", "problem"),
    [
        ("calculator", Call("calculator", {"wrong": 1}), False, "expression"),
        ("calculator", Call("calculator", "{broken"), False, "not valid JSON"),
        ("calculator", Call("teleport", {}), False, "no tool named"),
        ("none", Call("calculator", {"expression": "1"}), False, ""),
        ("none", None, True, ""),
        ("calculator", None, False, ""),
    ],
)
def test_a_case_passes_with_the_right_tool_and_arguments_that_fit(
    agent, model, sent, tool, call, passed, problem
):
    case_create(agent, prompt="What is one?", tool=tool)
    if call is None:
        model.enqueue("One.")
    else:
        model.calls(call)
    _, [result] = ran(agent)
    assert result.passed is passed
    assert problem in result.problem
    assert result.offered is (None if tool == "none" else True)
    assert result.answer == ("" if call else "One.")


def test_arguments_that_the_agent_always_sends_count_as_given(agent, model, sent):
    AgentTool.objects.update(config={"expression": "1+1"})
    case_create(agent, prompt="Sum", tool="calculator")
    model.calls(Call("calculator", {}))
    _, [result] = ran(agent)
    assert result.passed


def test_a_model_that_fails_or_only_searches_fails_the_case_in_words(agent, model, sent):
    case_create(agent, prompt="Sum", tool="calculator")
    model.refuses(401, "bad key")
    run, [result] = ran(agent)
    assert (run.state, result.passed) == (BenchState.DONE, False)
    assert result.error["code"] == "model_unauthorised"
    for _ in range(5):
        model.calls(Call("search_tools", {"need": "a tool that sums"}))
    _, [result] = ran(agent)
    assert result.error["code"] == "step_limit"
    assert bench.summaries_of([run])[run.pk].failed == 1


def test_the_demo_model_is_tried_without_a_key(agent, sent):
    case_create(agent, prompt="What is 17 * 23?", tool="calculator")
    case_create(agent, prompt="Thank you!", tool="none")
    run, results = ran(agent, model="demo/offline")
    assert [result.passed for result in results] == [True, True]
    summary = bench.summaries_of([run])[run.pk]
    assert (summary.pass_rate, summary.offered_rate, summary.tokens > 0) == (1, 1, True)


def test_the_values_of_credentials_are_masked_in_what_is_kept(agent, model, sent):
    credential_set(agent.owner, name="EXA_API_KEY", value="very-secret-value")
    case_create(agent, prompt="Use very-secret-value", tool="calculator")
    assert "very-secret" not in cases_of(agent).get().prompt
    model.calls(Call("calculator", {"expression": "very-secret-value"}))
    _, [result] = ran(agent)
    assert "very-secret" not in str(result.arguments)


def test_a_second_run_is_refused_while_one_goes_on(agent, sent):
    case_create(agent, prompt="Sum", tool="calculator")
    run = bench_request(agent, by=agent.owner)
    with pytest.raises(BenchRunning, match="runs already"):
        bench_request(agent, by=agent.owner)
    bench_stop(run)
    run.refresh_from_db()
    assert run.state == BenchState.STOPPED
    bench_run(run.pk)
    assert results_of(run).filter(finished_at=None).count() == 1, "a stopped run is not taken"


def test_a_run_is_stopped_between_cases_and_keeps_what_was_tried(agent, model, sent):
    cases_import(agent, [(f"Sum {number}", "") for number in range(10)])
    run = bench_request(agent, by=agent.owner)

    for _ in range(10):
        model.enqueue("One.")
    kept = bench_running._keep

    def keep_and_stop(*args: object) -> None:
        kept(*args)
        bench_stop(run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench_running, "_keep", keep_and_stop)
        bench_run(run.pk)
    run.refresh_from_db()
    assert run.state == BenchState.STOPPED
    assert results_of(run).filter(finished_at__isnull=False).count() == bench_running.AT_ONCE


def test_a_run_that_lost_its_worker_goes_on_with_what_is_left(agent, model, sent):
    cases_import(agent, [("Sum 1", "none"), ("Sum 2", "none")])
    run = bench_request(agent, by=agent.owner)
    BenchRun.objects.update(state=BenchState.RUNNING, attempt=1, heartbeat_at=timezone.now())
    results_of(run).filter(place=1).update(finished_at=timezone.now(), called="kept")
    bench_run(run.pk)
    assert benches_resume() == 0
    assert not model.requests, "its worker may still live"
    BenchRun.objects.update(heartbeat_at=timezone.now() - timedelta(hours=1))
    assert benches_resume() == 1
    assert sent == [str(run.pk)] * 2
    model.enqueue("Two.")
    bench_run(run.pk)
    run.refresh_from_db()
    assert (run.state, run.attempt) == (BenchState.DONE, 2)
    assert [result.called for result in results_of(run)] == ["kept", ""]


def test_of_two_workers_one_takes_a_run(agent, model, sent):
    case_create(agent, prompt="Sum", tool="none")
    run = bench_request(agent, by=agent.owner)
    model.enqueue("One.")
    gate = threading.Barrier(2)

    def work() -> None:
        try:
            gate.wait()
            bench_run(run.pk)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(model.requests) == 1


def test_without_a_queue_the_run_says_so(agent, monkeypatch):
    def away(*args: object, **fields: object) -> None:
        raise OperationalError

    monkeypatch.setattr(bench_running.current_app, "send_task", away)
    case_create(agent, prompt="Sum", tool="none")
    run = bench_request(agent, by=agent.owner)
    run.refresh_from_db()
    assert (run.state, run.error["code"]) == (BenchState.FAILED, "queue_unavailable")


@pytest.mark.parametrize(
    ("prompt", "tool", "words"),
    [
        (" ", "calculator", "Say what a person would ask"),
        ("x" * 4001, "", "at most 4,000 characters"),
        ("Sum", "two words", "Name one tool"),
        ("Sum", "x" * 129, "Name one tool"),
    ],
)
def test_what_cannot_be_a_case_is_refused_in_words(agent, prompt, tool, words):
    with pytest.raises(InvalidInput, match=words):
        case_create(agent, prompt=prompt, tool=tool)


def test_pasted_cases_are_kept_all_or_none(agent):
    assert lines_of("a\tcalculator\r\n\n b \nc\td\tnone") == [
        ("a", "calculator"),
        (" b ", ""),
        ("c\td", "none"),
    ]
    with pytest.raises(InvalidInput, match="one case a line"):
        lines_of(" \n")
    with pytest.raises(InvalidInput, match="Line 2: Say"):
        cases_import(agent, [("a", ""), (" ", "")])
    with pytest.raises(Conflict, match="has this prompt already: “a”"):
        cases_import(agent, [("a", ""), ("a", "x")])
    with pytest.raises(InvalidInput, match="at most 200 cases"):
        cases_import(agent, [(str(number), "") for number in range(201)])
    assert not cases_of(agent).exists()


def test_a_run_needs_a_case_and_a_name_of_a_model(agent):
    with pytest.raises(InvalidInput, match="no case"):
        bench_request(agent, by=agent.owner)
    with pytest.raises(InvalidInput, match="Name a model"):
        bench_request(agent, by=agent.owner, model="two words")


def test_what_came_out_otherwise_than_in_the_run_before_is_told(
    agent, model, sent, client_for, monkeypatch
):
    cases_import(agent, [("a", "none"), ("b", "calculator"), ("c", "none")])
    for _ in range(3):
        model.enqueue("Well.")
    _, before = ran(agent)
    monkeypatch.setattr(bench_running, "AT_ONCE", 1)
    model.calls(Call("calculator", {"expression": "1"}))
    model.calls(Call("calculator", {"expression": "1"}))
    model.enqueue("Well.")
    run, after = ran(agent)
    assert flips_between(after, before) == {1: False, 2: True}
    page = client_for(agent.owner).get(reverse("bench:run", args=[agent.slug, run.pk])).text
    assert "1 pass now and 1 fail now that did not" in page
    assert "passed before" in page
    overview = client_for(agent.owner).get(reverse("bench:bench", args=[agent.slug])).text
    assert "2 of 3" in overview
    assert 'id="bench-title"' in overview, "the plot over time"


def test_the_pages_add_change_import_run_stop_remove_and_export(agent, sent, client_for):
    client = client_for(agent.owner)
    home = reverse("bench:bench", args=[agent.slug])
    assert "No cases yet" in client.get(home).text
    assert client.post(home, {"prompt": "=Sum", "tool": "calculator"}).url == home
    again = client.post(home, {"prompt": "=Sum", "tool": ""})
    assert again.status_code == 400
    assert "has this prompt already" in again.text
    lines = {"lines": "a\tcalculator\nb\tnone"}
    assert client.post(reverse("bench:import", args=[agent.slug]), lines).url == home
    refused = client.post(reverse("bench:import", args=[agent.slug]), {"lines": "c\td e"})
    assert "Name one tool" in refused.text
    case = cases_of(agent).first()
    edit = reverse("bench:case", args=[agent.slug, case.pk])
    assert "calculator" in client.get(edit).text
    assert client.post(edit, {"prompt": "=Sum", "tool": "none"}).url == home
    case.refresh_from_db()
    assert case.tool == ""
    assert "Name a model" in client.post(f"{home}run/", {"model": "a b"}).text
    started = client.post(f"{home}run/", {"model": "demo/offline"})
    assert "Waiting for a worker" in client.get(started.url).text
    assert "runs already" in client.post(f"{home}run/", {}).text
    assert client.post(f"{started.url}stop/").url == started.url
    assert "Stopped after 0 of 3" in client.get(started.url).text
    table = client.get(f"{started.url}results.csv").getvalue().decode()
    assert "'=Sum" in table
    assert client.post(f"{edit}delete/").url == home
    assert cases_of(agent).count() == 2


def test_the_bench_is_the_owners_alone(agent, bob, sent, client_for):
    team = factories.make_team("", agent.owner, bob)
    Agent.objects.update(visibility="team", team=team)
    case = case_create(agent, prompt="Sum", tool="none")
    run = bench_request(agent, by=agent.owner)
    client = client_for(bob)
    for name, args in {
        "bench": [],
        "run": [run.pk],
        "results": [run.pk],
        "case": [case.pk],
    }.items():
        assert client.get(reverse(f"bench:{name}", args=[agent.slug, *args])).status_code == 404
    ours = {"start": [], "import": [], "run_stop": [run.pk], "case_delete": [case.pk]}
    for name, args in ours.items():
        assert client.post(reverse(f"bench:{name}", args=[agent.slug, *args])).status_code == 404
    for path in ("cases/", "runs/", f"runs/{run.pk}/"):
        assert client.get(f"/api/v1/agents/{agent.slug}/bench/{path}").status_code == 404
    with pytest.raises(NotFound, match="no such run"):
        bench.run_owned_by(bob, agent.slug, run.pk)
    assert "Bench" not in client.get(f"/agents/{agent.slug}/").text


def test_programs_keep_cases_and_run_them(agent, sent, client_for):
    client, base = client_for(agent.owner), f"/api/v1/agents/{agent.slug}/bench/"
    json = {"content_type": "application/json"}
    body = {"prompt": "What is 2 * 3?", "tool": "calculator"}
    made = client.post(f"{base}cases/", body, **json)
    assert made.status_code == 201
    assert client.get(f"{base}cases/").json() == [made.json()]
    begun = client.post(f"{base}runs/", {"model": "demo/offline"}, **json)
    assert begun.status_code == 202
    again = client.post(f"{base}runs/", {}, **json)
    assert (again.status_code, again.json()["code"]) == (409, "bench_running")
    bench_run(begun.json()["id"])
    shown = client.get(f"{base}runs/{begun.json()['id']}/").json()
    assert shown["state"] == "done"
    assert shown["summary"]["passRate"] == 1
    assert shown["results"][0]["called"] == "calculator"
    assert client.get(f"{base}runs/").json()["results"][0]["summary"]["passed"] == 1
    assert client.post(f"{base}runs/{begun.json()['id']}/stop/").json()["state"] == "done"
    assert client.delete(f"{base}cases/{made.json()['id']}/").status_code == 204


def test_a_busy_model_is_asked_again_and_a_broken_one_has_its_stand_in(agent, model, sent):
    agent.fallback_models = ["openai/stand-in"]
    agent.save()
    case_create(agent, prompt="What is 17*23?", tool="calculator")
    model.refuses(429, "slow down")
    model.refuses(401, "no such key")
    model.calls(Call("calculator", {"expression": "17*23"}))
    _, [result] = ran(agent)
    assert (result.called, result.error) == ("calculator", None)
    assert [request["model"] for request in model.requests] == ["scripted", "scripted", "stand-in"]
    assert not ModelStep.objects.exists(), "a trial leaves nothing behind"


def test_a_model_that_is_compared_has_no_stand_in(agent, model, sent):
    agent.fallback_models = ["openai/stand-in"]
    agent.save()
    case_create(agent, prompt="What is 17*23?", tool="calculator")
    model.refuses(401, "no such key")
    _, [result] = ran(agent, model="openai/other")
    assert result.error["code"].startswith("model_")
    assert [request["model"] for request in model.requests] == ["other"]


def test_a_model_that_takes_no_tools_is_told_of_them_in_words(agent, model, sent):
    agent.tool_protocol = "text"
    agent.save()
    case_create(agent, prompt="What is 17*23?", tool="calculator")
    call = '{"name": "calculator", "arguments": {"expression": "17*23"}}'
    model.enqueue(f"```tool_call\n{call}\n```")
    _, [result] = ran(agent)
    assert (result.called, result.arguments) == ("calculator", {"expression": "17*23"})
    assert not model.requests[0].get("tools")
