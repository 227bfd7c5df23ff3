"""Tools whose behaviour a test decides, and sequences made of them.

They are run by an executor of their own, named in `TOOL_EXECUTORS` as any kind of tool is.
"""

import base64
import time
from collections import Counter
from threading import Barrier, BrokenBarrierError
from typing import Any

from django.contrib.auth.models import User

from config.lib.types import JsonObject
from registry.context import CallContext
from registry.errors import (
    CallCancelled,
    RateLimited,
    ToolCrashed,
    ToolFailed,
    ToolInputRejected,
)
from registry.executors.base import Output
from registry.models import Tool
from registry.models.tool import ToolKind
from registry.specs import ToolSpec
from sequences import running
from sequences.models import Run
from sequences.states import run_cancel
from tests import factories

PIXEL = "iVBORw0KGgo="
OPEN_SCHEMA: JsonObject = {"type": "object", "properties": {}}
calls: list[tuple[str, JsonObject, CallContext]] = []
"""Every call since the test began, as (export, arguments, context)."""


class WorkshopExecutor:
    """Does what the export's name says."""

    def execute(self, spec: ToolSpec, arguments: JsonObject, context: CallContext) -> Output:
        calls.append((spec.export_name, arguments, context))
        answer = getattr(self, spec.export_name)(arguments, context)
        return answer if isinstance(answer, Output) else Output(value=answer)

    def echo(self, arguments: JsonObject, context: CallContext) -> Any:
        return arguments

    def fail(self, arguments: JsonObject, context: CallContext) -> Any:
        raise ToolFailed("It is broken.", "Mend it.")

    def reject(self, arguments: JsonObject, context: CallContext) -> Any:
        raise ToolInputRejected("Not this.")

    def third_time(self, arguments: JsonObject, context: CallContext) -> Any:
        if Counter(name for name, *_ in calls)["third_time"] < 3:
            raise ToolCrashed("Gone.")
        return "at last"

    def limited_once(self, arguments: JsonObject, context: CallContext) -> Any:
        if Counter(name for name, *_ in calls)["limited_once"] < 2:
            raise RateLimited("Too often.", retry_after_seconds=arguments.get("wait", 1))
        return "at last"

    def until_cancelled(self, arguments: JsonObject, context: CallContext) -> Any:
        if context.cancel.wait(60):
            raise CallCancelled
        return "never stopped"

    def cancel_run(self, arguments: JsonObject, context: CallContext) -> Any:
        """Ask for the cancel of the run that calls it, and go on until it is carried out."""
        from django.utils import timezone

        Run.objects.filter(pk=context.run_id).update(cancel_requested_at=timezone.now())
        return self.until_cancelled(arguments, context)

    def cancel_together(self, arguments: JsonObject, context: CallContext) -> Any:
        """Ask for the cancel once another call is in flight beside this one."""
        until(lambda: len(calls) >= 2)
        return self.cancel_run(arguments, context)

    def cancel_and_go_on(self, arguments: JsonObject, context: CallContext) -> Any:
        """Ask for the cancel of the run that calls it, and answer before that is noticed."""
        run_cancel(Run.objects.get(pk=context.run_id))
        return "done"

    def credential(self, arguments: JsonObject, context: CallContext) -> Any:
        return dict(context.env(["EXA_API_KEY"]))

    def large(self, arguments: JsonObject, context: CallContext) -> Any:
        return "x" * int(arguments["size"])

    def picture(self, arguments: JsonObject, context: CallContext) -> Any:
        return {"content": [{"type": "image", "mimeType": "image/png", "data": PIXEL}]}

    def slowly(self, arguments: JsonObject, context: CallContext) -> Any:
        """Answer although it was told to stop."""
        context.cancel.wait(60)
        return "late"

    def double(self, arguments: JsonObject, context: CallContext) -> Any:
        if arguments["n"] < 0:
            raise ToolFailed(f"{arguments['n']} is less than nothing.")
        return arguments["n"] * 2

    def meet(self, arguments: JsonObject, context: CallContext) -> Any:
        """Answer once as many calls as `together` says are in flight at the same time."""
        try:
            meeting.wait(60)
        except BrokenBarrierError:
            raise ToolFailed("Nobody came.") from None
        return arguments.get("n")

    def save_file(self, arguments: JsonObject, context: CallContext) -> Any:
        data = base64.b64encode(arguments["text"].encode()).decode()
        file = {"name": "note.txt", "media_type": "text/plain", "size": 1, "data": data}
        return Output(value="saved", details={"artifacts": [file]})


meeting = Barrier(2)


def make(export: str, **fields: Any) -> Tool:
    """Make the catalogue row of one of the tools above."""
    return factories.make_tool(
        **{
            "kind": ToolKind.NPM,
            "export_name": export,
            "wire_name": export,
            "input_schema": OPEN_SCHEMA,
            **fields,
        }
    )


def step(tool: Tool, number: int = 1, **fields: Any) -> JsonObject:
    """Describe a step that calls `tool`."""
    return {"stepNumber": number, "toolToRunId": str(tool.pk), **fields}


def sequence_of(owner: User, *steps: JsonObject, final: Any = None, **fields: Any) -> Tool:
    """Make a published private sequence of these steps, numbered in their order."""
    numbered = [{**item, "stepNumber": place} for place, item in enumerate(steps, 1)]
    definition: JsonObject = {"format": 1, "steps": numbered}
    if final is not None:
        definition["finalOutputMapping"] = final
    values: JsonObject = {"definition": definition, "input_schema": OPEN_SCHEMA, **fields}
    return factories.make_sequence(owner, timeout_seconds=300, **values)


def run_of(sequence: Tool, user: User, **fields: Any) -> Run:
    """Make a queued run of the current version of a sequence."""
    version = sequence.versions.get(number=sequence.version)
    values: JsonObject = {"caller": "browser", "input": {}, **fields}
    return Run.objects.create(tool=sequence, tool_version=version, user=user, **values)


def until(look: Any, seconds: float = 30) -> Any:
    """Return what `look` gives once it is truthy, or fail."""
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return seen


def ran(owner: User, *steps: JsonObject, final: Any = None, **fields: Any) -> Run:
    """Run a sequence of these steps in this process, as far as it goes, and return its run."""
    return go_on(run_of(sequence_of(owner, *steps, final=final), owner, **fields))


def go_on(run: Run) -> Run:
    """Do what a worker does with a queued run, and return the run as it then stands."""
    running.execute(run.pk)
    return Run.objects.get(pk=run.pk)


def fixed(**values: Any) -> JsonObject:
    """Map inputs to these values."""
    return {name: {"source": "static", "value": value} for name, value in values.items()}


def statuses(run: Run) -> dict[Any, str]:
    """Return how the rows of a run stand: by number, those of iterations by (number, iteration)."""
    return {
        row.number if row.iteration is None else (row.number, row.iteration): row.status
        for row in run.steps.all()
    }
