"""Sequences for tests of the MCP server, and a thread that stands for the worker."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import User
from django.db import connection

from registry.models import Tool
from sequences import running
from sequences.models import Run
from tests import factories
from tests.sequences.asking import FORM, approval
from tests.sequences.workshop import sequence_of, step

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


@contextmanager
def working() -> Iterator[None]:
    """Run what is queued, in a thread that stands for the worker's process."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.05):
            for run in Run.objects.filter(status="queued", parent_step=None):
                running.execute(run.pk)
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def counting(**fields: object) -> dict[str, object]:
    """Describe a step that counts the input's text."""
    tool = Tool.objects.filter(wire_name="count_text").first() or factories.make_builtin(
        "count_text"
    )
    mapped = {"text": {"source": "initialInput", "key": "text"}}
    return step(tool, inputMapping=mapped, **fields)


def counted_twice(user: User) -> Tool:
    """Make a sequence of two steps."""
    return sequence_of(
        user,
        counting(title="Count once", storeOutputAs="once"),
        counting(title="Count again"),
        wire_name="count_twice",
        input_schema=TEXT,
    )


def printed(user: User, **fields: object) -> Tool:
    """Make a sequence that asks a person between its steps; `fields` are of the approval."""
    return sequence_of(
        user,
        counting(title="Count"),
        {"approval": approval(**{"inputSchema": FORM, **fields}), "storeOutputAs": "said"},
        counting(title="Print"),
        wire_name="print_it",
        input_schema=TEXT,
        final={"said": {"source": "previousStep", "step": "said"}},
    )
