"""Score a tool from 0 to 1 (the seed's `qualityScore`); docs/reference/quality.md has the formula.

What a tool declares is a quarter of the score and has an end; the rest was seen by others. While
little was seen, each part stands near the middle, so that a new tool is neither good nor bad.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from registry.models import QualityDue, Tool
from registry.quality import declared
from registry.quality.evidence import CALLS_WINDOW, HEALTH_WINDOW, Evidence, evidence_of
from registry.usage.histogram import percentile

WEIGHTS = {
    "Documentation": 0.10,
    "Input schema": 0.15,
    "Health": 0.25,
    "Success": 0.25,
    "Speed": 0.10,
    "Use": 0.15,
}

PRIOR = 0.5
PRIOR_CALLS = 10
"""Calls that the prior weighs as much as: half of them good."""

PRIOR_DAYS = 3
FAST_MS, SLOW_MS = 500, 30_000
"""95 of 100 calls below the first: full share; above the second: none; between, by ratio."""

MANY_PEOPLE = 31
"""People from whom use has its full share; each doubling adds the same."""

AGAIN_IN = timedelta(days=1)
"""When a score is worked out anew although nothing happened: what was seen grows old."""

BATCH = 10
"""Tools that are scored in one transaction; what was seen of the most used takes 10 ms each."""


@dataclass(frozen=True, kw_only=True)
class QualityPart:
    """One part of the score: its weight, how much of it there is (0 to 1), why, and what helps."""

    name: str
    weight: float
    share: float
    told: str
    advice: str = ""

    @property
    def percent(self) -> int:
        """Return the share in percent."""
        return round(100 * self.share)

    @property
    def weight_percent(self) -> int:
        """Return the weight in percent."""
        return round(100 * self.weight)


def quality_parts(tool: Tool, seen: Evidence | None = None) -> tuple[QualityPart, ...]:
    """Return the parts of a tool's score; what was seen of it is read unless it is given."""
    seen = evidence_of([tool])[tool.pk] if seen is None else seen
    words, words_advice = declared.documentation(tool)
    schema, schema_advice = declared.schema(tool)
    shares = {
        "Documentation": (words, "Description, when to use it, what it answers.", words_advice),
        "Input schema": (schema, "Valid; parameters typed, described, bounded.", schema_advice),
        "Health": _health(seen),
        "Success": _success(seen),
        "Speed": _speed(seen),
        "Use": _use(seen),
    }
    return tuple(
        QualityPart(
            name=name,
            weight=WEIGHTS[name],
            share=round(share, 4),
            told=told,
            advice=advice,
        )
        for name, (share, told, advice) in shares.items()
    )


def quality_of(tool: Tool, seen: Evidence | None = None) -> Decimal:
    """Return the weighted sum of the parts, in hundredths."""
    return score_of(quality_parts(tool, seen))


def score_of(parts: Sequence[QualityPart]) -> Decimal:
    """Return the score that parts come to."""
    return Decimal(str(sum(part.weight * part.share for part in parts))).quantize(Decimal("0.01"))


def quality_at_publish(tool: Tool) -> Decimal:
    """Return the score of a tool that is about to be saved; of a new one nothing was seen."""
    return quality_of(tool, None if tool.version else Evidence())


@transaction.atomic
def quality_refresh(batch: int = BATCH) -> int:
    """Score the tools that are due, a batch of them; return how many those were.

    A tool is written only where its score is another one than before, for every change of a tool
    makes searches reload it. Several workers share the work.
    """
    now = timezone.now()
    due = QualityDue.objects.filter(due_at__lte=now).select_for_update(skip_locked=True)
    rows = list(due.order_by("due_at")[:batch])
    tools = Tool.objects.filter(pk__in=[row.pk for row in rows], deleted_at=None)
    living = {tool.pk: tool for tool in tools.select_related("package")}
    seen = evidence_of(living.values())
    again: list[UUID] = []
    done: list[UUID] = []
    for row in rows:
        tool = living.get(row.pk)
        if tool is None:
            done.append(row.pk)
            continue
        score = quality_of(tool, seen[tool.pk])
        if score != tool.quality:
            Tool.objects.filter(pk=tool.pk).update(quality=score)
        (again if seen[tool.pk].says_something else done).append(row.pk)
    QualityDue.objects.filter(pk__in=done).delete()
    QualityDue.objects.filter(pk__in=again).update(due_at=now + AGAIN_IN)
    return len(rows)


def _health(seen: Evidence) -> tuple[float, str, str]:
    up, known = seen.up_days, seen.up_days + seen.down_days
    share = (up + PRIOR * PRIOR_DAYS) / (known + PRIOR_DAYS)
    if seen.uptime is None:
        return share, "Nobody has seen yet whether it works.", "Check its health, or call it."
    told = f"Well for {seen.uptime * 100:.0f} % of the {_days(known)} it was watched."
    down = seen.down_days > 0
    advice = f"Keep it well: the last {HEALTH_WINDOW.days} days count." if down else ""
    return share, told, advice


def _success(seen: Evidence) -> tuple[float, str, str]:
    share = (seen.succeeded + PRIOR * PRIOR_CALLS) / (seen.calls + PRIOR_CALLS)
    if not seen.calls:
        return share, "Nobody but its maker has called it.", "Let others use it."
    percent = 100 * seen.succeeded / seen.calls
    told = f"{percent:.0f} % of the calls of {_people(seen.people)} succeeded."
    failed = seen.calls - seen.succeeded
    return share, told, "Mend what it fails by; its use shows the errors." if failed > 0 else ""


def _speed(seen: Evidence) -> tuple[float, str, str]:
    ran = sum(seen.durations)
    p95 = percentile(seen.durations, 0.95)
    if p95 is None:
        return PRIOR, "Not measured yet.", "Let others use it."
    span = math.log(SLOW_MS / FAST_MS)
    fast = 1 - math.log(max(p95, FAST_MS) / FAST_MS) / span
    share = (max(fast, 0.0) * ran + PRIOR * PRIOR_CALLS) / (ran + PRIOR_CALLS)
    told = f"95 of 100 calls took less than {_seconds(p95)}."
    return share, told, "Answer faster, or with less." if p95 > FAST_MS else ""


def _use(seen: Evidence) -> tuple[float, str, str]:
    share = min(math.log2(1 + seen.people) / math.log2(1 + MANY_PEOPLE), 1.0)
    told = f"Used by {_people(seen.people)} in {CALLS_WINDOW.days} days, its maker aside."
    return share, told, "" if share == 1 else "It grows with the people who use it, not with calls."


def _people(count: int) -> str:
    return f"{count} {'person' if count == 1 else 'people'}"


def _days(days: float) -> str:
    return f"{days:.0f} days" if days >= 1.5 else "day"  # noqa: PLR2004 - half a day up or down


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds} ms" if milliseconds < 1_000 else f"{milliseconds / 1000:.1f} s"  # noqa: PLR2004
