"""Runs of every look: loops, branches, steps that were reused, skipped, failed, one that asks."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.utils import timezone

from config.lib.types import JsonObject
from registry.models import Tool
from sequences.models import Run, RunStep
from tests import factories

FORM: JsonObject = {
    "type": "object",
    "properties": {
        "recipients": {"type": "string", "title": "Recipients", "description": "One a line."},
        "urgent": {"type": "boolean", "title": "Send at once"},
    },
    "required": ["recipients"],
}


def report_sequence(owner: User, tool: Tool) -> Tool:
    """Make a sequence with a loop, two branches, a question and a step behind it."""

    def step(number: int, title: str, **fields: Any) -> JsonObject:
        return {"stepNumber": number, "toolToRunId": str(tool.pk), "title": title, **fields}

    mapping = {"expression": {"source": "static", "value": "1 + 1"}}
    steps: list[JsonObject] = [
        step(1, "Fetch the figures", inputMapping=mapping),
        step(
            2,
            "Check each branch office",
            forEach={"items": {"source": "static", "value": [1, 2, 3]}, "parallel": 2},
            inputMapping=mapping,
        ),
        step(3, "Draw", parallel={"group": "make", "branch": "charts"}, inputMapping=mapping),
        step(4, "Write", parallel={"group": "make", "branch": "text"}, inputMapping=mapping),
        {
            "stepNumber": 5,
            "title": "May it be sent?",
            "approval": {
                "title": "May the report be sent?",
                "message": "It goes to everybody in the northern branch.",
                "inputSchema": FORM,
            },
        },
        step(6, "Send it", inputMapping=mapping),
    ]
    return factories.make_sequence(
        owner,
        title="Report of the northern branch",
        wire_name="northern_report",
        definition={"format": 1, "steps": steps},
        input_schema={"type": "object", "properties": {}},
    )


def _run(sequence: Tool, owner: User, status: str, began: datetime, **fields: Any) -> Run:
    run = Run.objects.create(
        tool=sequence,
        tool_version=sequence.versions.get(number=sequence.version),
        user=owner,
        caller=fields.pop("caller", "browser"),
        input={},
    )
    runs = Run.objects.filter(pk=run.pk)
    lease = {"lease": uuid4(), "lease_until": began}
    runs.update(status="running", created_at=began, started_at=began, **lease)
    runs.update(status=status, lease=None, lease_until=None, **fields)
    run.refresh_from_db()
    return run


def _step(run: Run, tool: Tool | None, number: int, status: str, **fields: Any) -> RunStep:
    after, took = fields.pop("after", 0), fields.pop("took", None)
    assert run.started_at is not None
    values: JsonObject = {
        "tool": tool,
        "tool_name": tool.wire_name if tool else "",
        "tool_version": 1 if tool else None,
        "status": status,
        "started_at": run.started_at + timedelta(milliseconds=after),
        "duration_ms": took,
        **fields,
    }
    return RunStep.objects.create(run=run, number=number, **values)


def waiting_run(sequence: Tool, owner: User, tool: Tool) -> Run:
    """Make a run that did a loop and two branches, and now asks a person."""
    run = _run(sequence, owner, "waiting", timezone.now() - timedelta(seconds=9))
    figures = {"rows": [{"office": name, "sales": 1_000} for name in "abcdefgh"] * 120}
    _step(
        run,
        tool,
        1,
        "succeeded",
        took=1_200,
        title="Fetch the figures",
        output=figures,
        input={"expression": "1 + 1"},
        message="Fetched 960 rows.",
    )
    _step(
        run,
        tool,
        2,
        "succeeded",
        after=1_250,
        took=2_400,
        title="Check each branch office",
        output=[2, None, 2],
    )
    for place, (status, took) in enumerate(
        [("succeeded", 700), ("fell_back", 1_500), ("succeeded", 800)]
    ):
        _step(
            run,
            tool,
            2,
            status,
            iteration=place,
            after=1_260 + 600 * place,
            took=took,
            attempts=1 + place % 2,
            message=f"Office {place + 1}",
            output=2,
        )
    _step(run, tool, 3, "succeeded", after=3_700, took=2_900, title="Draw", output=2)
    _step(
        run,
        tool,
        4,
        "skipped",
        after=3_700,
        took=0,
        title="Write",
        message="Skipped: its condition did not hold.",
    )
    asked = _step(run, None, 5, "waiting", after=6_650, title="May it be sent?")
    run.requests.create(
        step=asked,
        title="May the report be sent?",
        message="It goes to everybody in the northern branch.",
        input_schema=FORM,
    )
    run.artifacts.create(
        step=run.steps.get(number=1),
        name="figures.csv",
        version=1,
        media_type="text/csv",
        size=5,
        digest="0" * 64,
        content=b"a,b,c",
    )
    return run


def doubtful_run(sequence: Tool, owner: User, tool: Tool) -> Run:
    """Make a run with a step of which nobody knows whether it did its work."""
    run = _run(
        sequence, owner, "attention", timezone.now() - timedelta(minutes=3), caller="webhook"
    )
    _step(run, tool, 1, "in_doubt", title="Fetch the figures", input={"expression": "1 + 1"})
    return run


def failed_runs(sequence: Tool, owner: User, tool: Tool) -> tuple[Run, Run]:
    """Make a run that failed, and the retry of it, which differs in a value."""
    ended = timezone.now() - timedelta(hours=1)
    error = {
        "code": "tool_failed",
        "message": "Step 2 (calculator) failed: It is broken.",
        "hint": "Mend it.",
        "extra": {},
    }
    first = _run(
        sequence,
        owner,
        "failed",
        ended - timedelta(seconds=5),
        finished_at=ended,
        error=error,
        caller="schedule",
    )
    _step(
        first,
        tool,
        1,
        "succeeded",
        took=900,
        title="Fetch the figures",
        output={"rows": [1, 2], "day": "Monday"},
    )
    _step(
        first,
        tool,
        2,
        "failed",
        after=950,
        took=4_000,
        attempts=3,
        error={**error, "message": "It is broken."},
        title="Check each branch office",
    )
    again = _run(
        sequence,
        owner,
        "succeeded",
        ended + timedelta(seconds=60),
        finished_at=ended + timedelta(seconds=70),
        output={"sent": True},
    )
    Run.objects.filter(pk=again.pk).update(retry_of=first)
    _step(
        again,
        tool,
        1,
        "reused",
        after=-60_000,
        took=900,
        title="Fetch the figures",
        output={"rows": [1, 2, 3], "day": "Tuesday"},
    )
    _step(
        again,
        tool,
        2,
        "succeeded",
        after=10,
        took=3_000,
        title="Check each branch office",
        output=[2, 2, 2],
    )
    return first, again
