"""Compare ways of doing one thing within one run, so that the machine's mood cancels out."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "var" / "bench.json"

MOST_ROUNDS, LEAST_ROUNDS = 40, 9
SECONDS = 8.0
"""How long one comparison may take, once it has had its least number of rounds."""

ROWS: list[Row] = []


@dataclass(frozen=True)
class Row:
    """One benchmark: medians in `unit`, and whether the ratio holds its target.

    `limit` is what `ours` should stay below on a quiet machine, in `unit`; None where only the
    ratio counts. It decides nothing here, since milliseconds depend on who else is at work, but
    where it is the `target` itself: then `ours` is held to it, and the ratio is only told.
    """

    name: str
    unit: str
    ours: float
    baseline: str
    baseline_value: float
    ratio: float
    target: float
    holds: bool
    limit: float | None = None


@dataclass(frozen=True)
class Baseline:
    """What is compared with: its name, what to run, and the largest ratio that holds."""

    name: str
    run: Callable[[], object]
    target: float


def compare(
    name: str,
    ours: Callable[[], object],
    *baselines: Baseline,
    limit: float | None = None,
    before: Callable[[], object] = lambda: None,
) -> None:
    """Run all in turns, add a row for each baseline, and assert that the ratios hold.

    `before` is done before each run of ours and not measured.
    """
    for act in (ours, *(baseline.run for baseline in baselines)):
        act()

    def act() -> float:
        before()
        return measured(ours)

    runs: dict[str, Callable[[], float]] = {"": act}
    runs |= {each.name: (lambda run=each.run: measured(run)) for each in baselines}  # type: ignore[misc]
    held(rows_of(name, in_turns(runs), {each.name: each.target for each in baselines}, limit))


def in_turns(runs: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """Run all in turns; return the median of what each says that it took."""
    took: dict[str, list[float]] = {name: [] for name in runs}
    ends_at = time.monotonic() + SECONDS
    for number in range(MOST_ROUNDS):
        if number >= LEAST_ROUNDS and time.monotonic() > ends_at:
            break
        for name, run in runs.items():
            took[name].append(run())
    return {name: statistics.median(values) for name, values in took.items()}


def rows_of(
    name: str, medians: Mapping[str, float], targets: Mapping[str, float], limit: float | None
) -> list[Row]:
    """Return a row for each target; ours is the median without a name."""
    ours = medians[""]
    return [
        Row(
            name,
            "ms",
            round(ours, 3),
            baseline,
            round(medians[baseline], 3),
            round(ours / medians[baseline], 4),
            target,
            ours / medians[baseline] <= target,
            limit,
        )
        for baseline, target in targets.items()
    ]


def held(rows: Sequence[Row]) -> None:
    """Add rows to the table and assert that they hold."""
    ROWS.extend(rows)
    missed = [row for row in rows if not row.holds]
    assert not missed, "; ".join(
        f"{row.name}: {row.ours:g} {row.unit}, {row.ratio} of {row.baseline}: above {row.target}"
        for row in missed
    )


def measured(act: Callable[[], object]) -> float:
    """Return how long something takes, in milliseconds."""
    started = time.perf_counter()
    act()
    return (time.perf_counter() - started) * 1000


def report() -> None:
    """Print the table and write `var/bench.json`."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps([asdict(row) for row in ROWS], indent=1))
    head = ("benchmark", "ours", "wanted", "baseline", "its", "unit", "ratio", "target", "")
    lines = [head] + [
        (
            row.name,
            f"{row.ours:.3f}",
            "" if row.limit is None else f"≤ {row.limit:g}{'' if row.ours <= row.limit else ' !'}",
            row.baseline,
            f"{row.baseline_value:.3f}",
            row.unit,
            f"{row.ratio:.3f}",
            f"≤ {row.target:g}",
            "holds" if row.holds else "MISSED",
        )
        for row in ROWS
    ]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    print()  # noqa: T201 -- the table is what a benchmark is for
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))  # noqa: T201
