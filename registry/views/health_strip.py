"""How a tool fared in the last 30 days, as a strip of coloured stretches."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from config.lib.plots import Bar
from registry.models import Tool
from registry.models.health import HealthState
from registry.quality.evidence import HEALTH_WINDOW, Stretch, health_of

WIDTH = 1000
MOST_TOLD = 20

_CSS = {
    HealthState.HEALTHY: "plot-ok",
    HealthState.UNKNOWN: "plot-unknown",
    HealthState.IMPORT_BROKEN: "plot-bad",
    HealthState.EXECUTION_BROKEN: "plot-bad",
}


@dataclass(frozen=True, kw_only=True)
class HealthStrip:
    """The strip, its latest stretches in words (the latest first), and the share it was well."""

    bars: Sequence[Bar]
    stretches: Sequence[Stretch]
    uptime: float | None
    since: datetime
    width: int = WIDTH


def health_strip(tool: Tool) -> HealthStrip:
    """Return the strip of a tool, in one query."""
    stretches = health_of(tool)
    since = timezone.now() - HEALTH_WINDOW
    up = sum(part.days for part in stretches if part.state == HealthState.HEALTHY)
    known = sum(part.days for part in stretches if part.state != HealthState.UNKNOWN)
    return HealthStrip(
        bars=[_bar(part, since) for part in stretches],
        stretches=stretches[::-1][:MOST_TOLD],
        uptime=up / known if known else None,
        since=since,
    )


def _bar(part: Stretch, since: datetime) -> Bar:
    start = (part.since - since) / HEALTH_WINDOW * WIDTH
    width = max((part.until - part.since) / HEALTH_WINDOW * WIDTH, 1.5)
    until = "now" if timezone.now() - part.until < timedelta(minutes=1) else f"{part.until:%d %b}"
    return Bar(
        x=round(max(start, 0.0), 1),
        y=0,
        width=round(width, 1),
        height=10,
        css=_CSS.get(part.state, "plot-wait"),
        told=f"{part.state.label}, {part.since:%d %b} to {until}",
    )
