"""The Celery application: `celery -A config worker`."""

import os
from typing import Any

from celery import Celery, Task
from celery.signals import before_task_publish, task_postrun

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

        told = (self.request.headers or {}).get("outfitter_change")
        told = told or getattr(self.request, "outfitter_change", None)
        with changing(**{**from_headers(told), "source": "worker", "path": self.name}):
            return self.run(*args, **kwargs)


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


app = Celery("outfitter", task_cls=AuditedTask)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf["CELERY_DB_REUSE_MAX"] = TASKS_PER_POOL
app.autodiscover_tasks()
