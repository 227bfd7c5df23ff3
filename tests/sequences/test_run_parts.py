"""The parts of a run's page: the timeline, loops, inner runs, long values and files."""

import json
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.lib.types import JsonObject
from registry.models import Tool
from sequences import running
from sequences.models import Run, RunArtifact, RunStep, SequenceDraft
from sequences.sample_inputs import sample_save
from sequences.states import run_cancel
from sequences.views.timeline import timeline_of
from tests.sequences import workshop
from tests.sequences.asking import asking

SignIn = Callable[[User], Client]


@pytest.fixture
def client(alice: User, client_for: SignIn) -> Client:
    return client_for(alice)


@pytest.fixture
def echo() -> Tool:
    return workshop.make("echo")


def ran(user: User, *steps: JsonObject, **fields: Any) -> Run:
    """Make a run of these steps and run it to its end."""
    run = workshop.run_of(workshop.sequence_of(user, *steps), user, **fields)
    running.execute(run.pk)
    run.refresh_from_db()
    return run


def looped(user: User, tool: Tool, count: int) -> Run:
    """Make a run under way whose loop has done `count` items."""
    each = {"items": {"source": "static", "value": list(range(count))}}
    run = workshop.run_of(workshop.sequence_of(user, workshop.step(tool, forEach=each)), user)
    rows = [
        RunStep(
            run=run,
            number=1,
            iteration=iteration,
            tool=tool,
            tool_name=tool.wire_name,
            status="running" if iteration is None else "succeeded",
            started_at=timezone.now(),
        )
        for iteration in (None, *range(count))
    ]
    RunStep.objects.bulk_create(rows)
    return run


def shown(client: Client, run: Run) -> str:
    return client.get(f"/runs/{run.pk}/").content.decode()


def test_the_bars_of_a_timeline_stand_on_one_axis(alice: User, echo: Tool) -> None:
    run = workshop.run_of(workshop.sequence_of(alice, *[workshop.step(echo)] * 3), alice)
    begin = run.created_at + timedelta(seconds=2)
    Run.objects.filter(pk=run.pk).update(
        status="running", started_at=begin, lease=run.pk, lease_until=begin
    )
    Run.objects.filter(pk=run.pk).update(
        status="succeeded",
        finished_at=begin + timedelta(seconds=10),
        lease=None,
        lease_until=None,
    )
    rows = [(1, 0, 5_000, "succeeded"), (2, 5, 2_500, "failed"), (3, 9, None, "skipped")]
    for number, after, took, status in rows:
        RunStep.objects.create(
            run=run,
            number=number,
            tool=echo,
            status=status,
            started_at=begin + timedelta(seconds=after),
            duration_ms=took,
        )
    run.refresh_from_db()
    timeline = timeline_of(run)
    assert timeline.axis.milliseconds == 10_000
    bars = [line.bar and (line.bar.x, line.bar.width, line.bar.status) for line in timeline.lines]
    assert bars == [(0, 500, "succeeded"), (500, 250, "failed"), None]


@pytest.mark.django_db(transaction=True)  # threads of their own play the branches
def test_the_branches_of_a_group_stand_side_by_side(
    client: Client, alice: User, echo: Tool
) -> None:
    branches = [
        workshop.step(echo, parallel={"group": "both", "branch": branch}, title=branch)
        for branch in ("left", "right")
    ]
    run = ran(alice, *branches, workshop.step(echo, title="after"))
    blocks = timeline_of(run).blocks
    assert [block.group for block in blocks] == ["both", ""]
    assert [branch for branch, _ in blocks[0].branches] == ["Left", "Right"]
    assert "Branches, run side by side" in shown(client, run)


def test_a_loop_folds_its_iterations_and_pages_through_many(
    client: Client, alice: User, echo: Tool
) -> None:
    run = looped(alice, echo, 53)
    text = shown(client, run)
    assert "53 iterations" in text
    assert "See all 53 iterations" in text
    loop = run.steps.get(iteration=None)
    url = f"/runs/{run.pk}/steps/{loop.pk}/"
    assert len(client.get(url).context["page"]) == 50
    last = client.get(f"{url}?page=2").context["page"]
    assert [row.iteration for row in last] == [50, 51, 52]
    one = client.get(f"/runs/{run.pk}/steps/{last[0].pk}/").content.decode()
    assert "Iteration 51 of step 1" in one


def test_a_loop_that_begins_while_its_run_is_read_is_not_begun_yet(
    client: Client, alice: User, echo: Tool
) -> None:
    run = looped(alice, echo, 53)
    run.steps.filter(iteration=None).delete()  # as the rows are where only the later were seen
    assert "Not begun" in shown(client, run)


def test_the_page_of_a_loop_takes_as_many_queries_for_many_iterations_as_for_few(
    client: Client, alice: User, echo: Tool, django_assert_max_num_queries: Any
) -> None:
    run = looped(alice, echo, 60)
    with django_assert_max_num_queries(16):
        shown(client, run)


def test_the_steps_of_an_inner_run_are_told_inside_of_the_step(
    client: Client, alice: User, echo: Tool
) -> None:
    inner = workshop.sequence_of(alice, workshop.step(echo, title="Deep inside"), title="Inner")
    text = shown(client, ran(alice, workshop.step(inner)))
    assert "Inner run: Inner" in text
    assert "1. Deep inside" in text


def test_why_a_step_was_not_run_is_told(client: Client, alice: User, echo: Tool) -> None:
    broken = workshop.make("fail")
    steps = [
        workshop.step(echo),
        workshop.step(echo, when="false"),
        workshop.step(broken, fallback={"value": "instead"}),
        workshop.step(broken),
    ]
    text = shown(client, run := ran(alice, *steps))
    assert "Skipped" in text
    assert "The run went on with the fallback value as its output." in text
    assert "instead" in text
    client.post(f"/runs/{run.pk}/retry", {"from_step": "4"})
    again = Run.objects.get(retry_of=run)
    assert "It was not run again" in shown(client, again)


def test_a_long_value_is_cut_and_downloaded_whole(client: Client, alice: User) -> None:
    large = workshop.make("large")
    mapping = {"size": {"source": "static", "value": 40_000}}
    run = ran(alice, workshop.step(large, inputMapping=mapping))
    step = run.steps.get()
    text = shown(client, run)
    assert len(text) < 60_000
    assert "Download all of it (39.1" in text
    for name in ("output", "input"):
        answer = client.get(f"/runs/{run.pk}/steps/{step.pk}/{name}.json")
        assert json.loads(answer.content) == getattr(step, name)
        assert answer["Content-Disposition"] == f"attachment; filename*=UTF-8''step-1-{name}.json"
        assert answer["Cache-Control"] == "private, no-store"
        assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == (
            "application/json",
            "nosniff",
        )
    assert json.loads(client.get(f"/runs/{run.pk}/output.json").content) == run.output
    assert json.loads(client.get(f"/runs/{run.pk}/input.json").content) == {}
    told = client.get(f"/api/v1/runs/{run.pk}/steps/{step.pk}/").json()
    assert told["output"] == step.output
    assert told["input"] == {"size": 40_000}


def test_a_run_with_large_outputs_is_shown_without_reading_them_whole(
    client: Client, alice: User, echo: Tool
) -> None:
    run = ran(alice, workshop.step(echo))
    RunStep.objects.filter(run=run).update(output={"text": "x" * 900_000})
    line = timeline_of(run).lines[0]
    assert line.output is not None
    assert line.step is not None
    assert (len(line.output.text), line.output.is_cut) == (6_002, True)
    assert "output" in line.step.get_deferred_fields()


@pytest.fixture
def file(alice: User, echo: Tool) -> RunArtifact:
    run = ran(alice, workshop.step(echo))
    content = b"<script>alert(1)</script>"
    return RunArtifact.objects.create(
        run=run,
        step=run.steps.get(),
        name="page <1>.html",
        version=1,
        media_type="text/html",
        size=len(content),
        digest=sha256(content).hexdigest(),
        content=content,
    )


def test_the_files_of_a_run_are_listed_and_saved_never_shown(
    client: Client, file: RunArtifact
) -> None:
    text = shown(client, file.run)
    assert "page &lt;1&gt;.html" in text
    for url in (
        f"/runs/{file.run_id}/files/{file.pk}",
        f"/api/v1/runs/{file.run_id}/artifacts/{file.pk}/",
    ):
        answer = client.get(url)
        assert answer.content == file.content
        assert answer["Content-Disposition"].startswith("attachment; filename*=UTF-8''page%20%3C1")
        assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    told = client.get(f"/api/v1/runs/{file.run_id}/").json()["artifacts"]
    assert told[0]["url"] == f"/api/v1/runs/{file.run_id}/artifacts/{file.pk}/"


def test_the_parts_of_a_run_are_nobody_elses(
    file: RunArtifact, bob: User, client_for: SignIn
) -> None:
    stranger, run = client_for(bob), file.run_id
    step = f"steps/{file.step_id}"
    parts = ("output.json", "input.json", f"{step}/", f"{step}/output.json", "events")
    for part in (*parts, f"files/{file.pk}"):
        assert stranger.get(f"/runs/{run}/{part}").status_code == 404, part
    for part in (f"{step}/", "events/", f"artifacts/{file.pk}/"):
        assert stranger.get(f"/api/v1/runs/{run}/{part}").status_code == 404, part


def test_what_belongs_to_another_run_is_not_found(
    client: Client, alice: User, file: RunArtifact
) -> None:
    assert file.run.tool is not None
    other = workshop.run_of(file.run.tool, alice)
    for part in (f"steps/{file.step_id}/", f"files/{file.pk}"):
        assert client.get(f"/runs/{other.pk}/{part}").status_code == 404


def test_a_question_is_named_by_what_it_asks(client: Client, alice: User) -> None:
    run = asking(alice).run
    assert [line.title for line in timeline_of(run).lines] == ["", "Print it?", ""]
    assert run.steps.get(number=2).title == "Print it?"
    run_cancel(run)
    workshop.run_of(run.tool, alice)
    client.post(reverse("sequences:run_retry", args=[run.pk]), {"from_step": "1"})
    again = Run.objects.get(retry_of=run)
    address = f"/runs/{run.pk}/compare/{again.pk}"
    assert address in shown(client, again)  # the one that it retries, whatever ran in between
    assert "2. Print it?</span>" in client.get(address).content.decode()


def test_a_run_begins_with_the_input_of_another(client: Client, alice: User, echo: Tool) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "tags": {}}}
    sequence = workshop.sequence_of(alice, workshop.step(echo), input_schema=schema)
    run = workshop.run_of(sequence, alice, input={"n": 7, "tags": ["a"]})
    running.execute(run.pk)
    url = f"/sequences/{sequence.pk}/run?like={run.pk}"
    assert url in shown(client, run)
    text = client.get(url).content.decode()
    assert 'value="7"' in text
    assert "[&quot;a&quot;]" in text
    assert client.get(f"/sequences/{sequence.pk}/run?like=nonsense").status_code == 200


def test_a_run_begins_with_a_saved_sample_and_asks_first_for_what_it_needs(
    client: Client, alice: User, bob: User, echo: Tool, client_for: SignIn
) -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "people": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["people"],
    }
    sequence = workshop.sequence_of(
        alice, workshop.step(echo), input_schema=schema, visibility="public"
    )
    draft = SequenceDraft.objects.create(owner=alice, tool=sequence, document={})
    sample = sample_save(draft, "two people", {"people": ["Ada", "Grace"]})
    page = reverse("sequences:run_start", args=[sequence.pk])
    offered = f"{page}?version=1&amp;sample={sample.pk}"
    text = client.get(page).content.decode()
    assert offered in text
    assert "One a line." in text
    assert text.index('id="run-people"') < text.index('id="run-n"')
    assert ">Ada\nGrace</textarea>" in client.get(f"{page}?sample={sample.pk}").content.decode()
    theirs = client_for(bob).get(f"{page}?sample={sample.pk}").content.decode()
    assert "Ada" not in theirs
    assert "two people" not in theirs


def test_the_axis_of_a_run_that_waits_goes_on(alice: User, echo: Tool) -> None:
    run = workshop.run_of(workshop.sequence_of(alice, workshop.step(echo)), alice)
    Run.objects.filter(pk=run.pk).update(created_at=timezone.now() - timedelta(minutes=1))
    run.refresh_from_db()
    assert timeline_of(run).axis.milliseconds >= 60_000
