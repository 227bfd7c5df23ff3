"""The Celery application: `celery -A config worker`."""

import os
import time
from contextlib import ExitStack
from typing import Any

from celery import Celery, Task
from celery.signals import (
    beat_init,
    before_task_publish,
    task_postrun,
    task_prerun,
    worker_process_shutdown,
)

from config.lib import traces
from config.lib.logs import noted

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

TASKS_PER_POOL = 10_000
"""Tasks after which a process of the worker makes its pool of database connections anew.

Without such a number Celery does so before and after every task, which takes longer than most do.
"""


class AuditedTask(Task):  # type: ignore[type-arg]
    """A task whose writes name the person who asked for it, and the request that it came from."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task."""
        from config.lib.changes import changing, from_headers

        facts = from_headers(_header(self, CHANGE))
        with (
            changing(**{**facts, "source": "worker", "path": self.name}) as change,
            noted(request_id=change.request_id),
            traces.span(f"process {self.name}", kind="consumer", told=_trace(self), **_of(self)),
        ):
            return self.run(*args, **kwargs)


def _of(task: AuditedTask) -> dict[str, str]:
    return {
        "messaging__system": "celery",
        "messaging__operation__type": "process",
        "messaging__destination__name": task.name,
    }


def _trace(task: AuditedTask) -> dict[str, str] | None:
    """Return where the trace of a task begins; what beat asks for begins one of its own."""
    carried = _header(task, TRACE)
    return carried if isinstance(carried, dict) else None


def _header(task: Task[Any, Any], name: str) -> Any:
    return (task.request.headers or {}).get(name) or getattr(task.request, name, None)


CHANGE = "outfitter_change"
"""The header of a message with who asked for it; see `config.lib.changes.headers_of`."""

TRACE = "outfitter_trace"
"""The header of a message with the W3C trace context of whoever sent it."""


_marks: dict[str, ExitStack] = {}
"""By the id of a task that runs: what marks its lines."""


@task_prerun.connect(weak=False)
def _mark_lines(task_id: str, task: Task[Any, Any], **_: Any) -> None:
    """Mark all lines of a task, those in which Celery tells of it too."""
    told = _header(task, CHANGE)
    request_id = told.get("request") if isinstance(told, dict) else None
    marks = _marks[task_id] = ExitStack()
    marks.enter_context(noted(request_id=request_id, task_id=task_id))


@task_postrun.connect(weak=False)
def _mark_no_more(task_id: str, **_: Any) -> None:
    if marks := _marks.pop(task_id, None):
        marks.close()


@worker_process_shutdown.connect(weak=False)
def _send_spans(**_: Any) -> None:
    """Send what a process of the worker still holds: it ends without Python's ways to clear up."""
    traces.flush()


@task_postrun.connect(weak=False)
def _give_back_connections(sender: Task[Any, Any], **_: Any) -> None:
    """Let other threads of this process have the task's connection, unless a test runs it."""
    from django.db import close_old_connections

    if not sender.request.is_eager:
        close_old_connections()


@before_task_publish.connect(weak=False)
def _carry_change(headers: dict[str, Any] | None = None, **_: Any) -> None:
    from config.lib.changes import current_change, headers_of

    if headers is not None:
        headers.update(headers_of(current_change()))
        headers["outfitter_sent_at"] = time.time()
        if trace := traces.headers():
            headers[TRACE] = trace


BEAT_SEEN, BEAT_SEEN_SECONDS = "beat:seen", 60
"""Where it stands that beat has sent something, and for how long that counts."""


@beat_init.connect(weak=False)
def _in_beat(**_: Any) -> None:
    """Have this process note what it sends: nobody can ask beat whether it lives."""
    before_task_publish.connect(_note_beat, weak=False)


def _note_beat(**_: Any) -> None:
    from django.core.cache import cache

    cache.set(BEAT_SEEN, 1, BEAT_SEEN_SECONDS)


app = Celery("outfitter", task_cls=AuditedTask)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf["CELERY_DB_REUSE_MAX"] = TASKS_PER_POOL
app.autodiscover_tasks()
