"""Server-sent events of a run: that it changed, for its page; what changed, for programs."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from uuid import UUID

from config.lib.event_streams import KEEPALIVE, sse
from config.lib.threads import in_thread
from config.lib.types import JsonObject
from sequences.following import follow
from sequences.models import Run, RunStep
from sequences.step_entries import step_entry

Seen = dict[UUID, tuple[str, int]]
"""Status and attempts of each step when it was told last."""


async def page_stream(run_id: UUID, *, seen: str) -> AsyncGenerator[str]:
    """Yield `changed` each time that the page has to be read again, and `end` when it is over.

    `seen` is the digest of the state that the page shows.
    """
    number = 0
    async with aclosing(follow(run_id, seen=seen)) as states:
        async for state in states:
            if state is None:
                yield KEEPALIVE
            else:
                number += 1
                yield sse(state.status, "changed", number)
    yield sse("over", "end", number + 1)


async def json_stream(run_id: UUID) -> AsyncGenerator[str]:
    """Yield a `step` for each step that changed and a `run` where its status did.

    The last event is `end`, `{"status"}` of the run as it ended.
    """
    number, status = 0, ""
    told: Seen = {}
    async with aclosing(follow(run_id)) as states:
        async for state in states:
            if state is None:
                yield KEEPALIVE
                continue
            for entry in await in_thread(_changed, run_id, told):
                number += 1
                yield _event(entry, "step", number)
            if state.status != status:
                number, status = number + 1, state.status
                yield _event(await in_thread(_run, run_id), "run", number)
    yield _event({"status": status}, "end", number + 1)


def _event(data: JsonObject, name: str, number: int) -> str:
    return sse(json.dumps(data, ensure_ascii=False, sort_keys=True), name, number)


def _run(run_id: UUID) -> JsonObject:
    run = Run.objects.only("status", "error", "cancel_requested_at").get(pk=run_id)
    asked = run.cancel_requested_at
    return {
        "id": str(run_id),
        "status": run.status,
        "error": run.error,
        "cancel_requested_at": asked.isoformat() if asked else None,
    }


def _changed(run_id: UUID, told: Seen) -> list[JsonObject]:
    """Return the entries of the steps that are not as they were told, and keep how they are."""
    marks = {
        row: (status, attempts)
        for row, status, attempts in RunStep.objects.filter(run=run_id).values_list(
            "pk", "status", "attempts"
        )
    }
    new = [row for row, mark in marks.items() if told.get(row) != mark]
    rows = RunStep.objects.filter(pk__in=new).defer("input").order_by("number", "iteration")
    entries = []
    for row in rows:
        told[row.pk] = (row.status, row.attempts)
        entries.append(step_entry(row))
    return entries
