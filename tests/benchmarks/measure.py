"""Compare two ways of doing one thing within one run, so that the machine's mood cancels out."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "var" / "bench.json"


@dataclass(frozen=True)
class Row:
    """One benchmark: medians in `unit`, and whether the ratio holds its target."""

    name: str
    unit: str
    ours: float
    baseline: str
    baseline_value: float
    ratio: float
    target: float
    holds: bool


def compare(
    name: str,
    ours: Callable[[], object],
    baseline_name: str,
    baseline: Callable[[], object],
    *,
    target: float,
    rounds: int = 30,
    before: Callable[[], object] = lambda: None,
) -> Row:
    """Run both in turns and compare their medians; `target` is the largest ratio that holds.

    `before` is done before each run of ours and not measured.
    """
    ours(), baseline()

    def act() -> float:
        before()
        return measured(ours)

    return compare_values(
        name, act, baseline_name, lambda: measured(baseline), target=target, rounds=rounds
    )


def compare_values(
    name: str,
    ours: Callable[[], float],
    baseline_name: str,
    baseline: Callable[[], float],
    *,
    target: float,
    rounds: int,
) -> Row:
    """Compare as `compare` does what both themselves say they took, in milliseconds."""
    mine: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        mine.append(ours())
        theirs.append(baseline())
    a, b = statistics.median(mine), statistics.median(theirs)
    ratio = a / b
    return Row(
        name,
        "ms",
        round(a, 3),
        baseline_name,
        round(b, 3),
        round(ratio, 4),
        target,
        ratio <= target,
    )


def measured(act: Callable[[], object]) -> float:
    """Return how long something takes, in milliseconds."""
    started = time.perf_counter()
    act()
    return (time.perf_counter() - started) * 1000


def report(rows: list[Row]) -> None:
    """Print the table and write `var/bench.json`."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    head = ("benchmark", "ours ms", "baseline", "ms", "ratio", "target", "")
    lines = [head] + [
        (
            row.name,
            f"{row.ours:.3f}",
            row.baseline,
            f"{row.baseline_value:.3f}",
            f"{row.ratio:.3f}",
            f"≤ {row.target:g}",
            "holds" if row.holds else "MISSED",
        )
        for row in rows
    ]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    print()  # noqa: T201 -- the table is what a benchmark is for
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))  # noqa: T201
