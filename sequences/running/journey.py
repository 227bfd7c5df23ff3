"""What the parts of the engine share while a run is played."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import IntEnum
from threading import Event
from typing import Any

from registry.context import CallContext
from sequences.definition import Definition, Step
from sequences.models import Run, RunStep
from sequences.models.run_step import OPEN, StepStatus
from sequences.run_tools import RunTools
from sequences.step_rows import Journal, LeaseLost
from sequences.watch import Watch

Known = dict[str, Any]
"""What mappings may refer to: `{"initial": {…}, "steps": {name: output}}`, in a loop with `item`
and `index`."""

Place = tuple[int, int | None]
"""The number of a step, and the iteration of its loop; None: the step itself."""

Rows = dict[Place, RunStep]
"""The rows of a run as they stand."""

WITHOUT_OUTPUT = frozenset({StepStatus.FAILED, StepStatus.SKIPPED})
"""How a step may end without leaving an output under its name."""


class Why(IntEnum):
    """Why a run stops before its last step; of several reasons the smallest counts."""

    CANCELLED = 1
    FAILED = 2
    HANDED_OVER = 3
    """Its worker is shutting down: another goes on from here."""

    WAITS = 4
    """A person has to say something."""


@dataclass(frozen=True)
class Stop:
    """A reason to stop, with the row of the step where it came up, if it was one."""

    why: Why
    row: RunStep | None = None


@dataclass
class Journey:
    """One way through a run's steps, under one claim.

    `halted` is set when a branch stops for good, so
    that those beside it end with the step in flight. `journal` writes the rows of this thread.
    """

    run: Run
    definition: Definition
    context: CallContext
    watch: Watch
    journal: Journal
    tools: RunTools
    rows: Rows = field(default_factory=dict)
    halted: Event = field(default_factory=Event)

    @contextmanager
    def beside(self) -> Iterator["Journey"]:
        """Yield the same journey for another thread, with a journal of its own."""
        mine = replace(self, journal=Journal(self.run))
        try:
            yield mine
        finally:
            mine.journal.flush()

    def why_stop(self) -> Why | None:
        """Say at a step's boundary why no other step may begin; None where it may.

        Raises LeaseLost when another worker has the run by now.
        """
        if self.watch.is_lost():
            raise LeaseLost(str(self.run))
        if self.watch.is_cancelled():
            return Why.CANCELLED
        if self.halted.is_set():
            return Why.FAILED
        if self.watch.is_handing_over():
            return Why.HANDED_OVER
        return None

    def is_stopping(self) -> bool:
        """Tell whether the run is about to end, so that nothing is tried again."""
        return self.watch.is_cancelled() or self.halted.is_set()

    def ended(self, step: Step, iteration: int | None = None) -> RunStep | None:
        """Return the row of a step that is over, under this claim or one before."""
        row = self.rows.get((step.step_number, iteration))
        return None if row is None or row.status in OPEN else row

    def keep(self, row: RunStep) -> RunStep:
        """Return the row, and know from now on how it stands."""
        self.rows[row.number, row.iteration] = row
        return row


def known_of(run: Run, definition: Definition, rows: Rows) -> Known:
    """Return all that steps of the run have left so far."""
    known: Known = {"initial": run.input, "steps": {}}
    for step in definition.steps:
        row = rows.get((step.step_number, None))
        if row is not None and row.status not in OPEN:
            remember(known, step, row)
    return known


def remember(known: Known, step: Step, row: RunStep) -> None:
    """Let the steps behind this one use its output, if it left one."""
    if step.store_output_as and row.status not in WITHOUT_OUTPUT:
        known["steps"][step.store_output_as] = row.output
