"""What a sum of calls says."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from config.lib.types import JsonObject
from registry.usage.histogram import empty, percentile


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Calls and how they ended; the words are those of `registry.models.usage.Measures`."""

    calls: int = 0
    succeeded: int = 0
    failed: int = 0
    refused: int = 0
    faults: int = 0
    total_ms: int = 0
    cost: Decimal | None = None
    last_at: datetime | None = None
    durations: Sequence[int] = field(default_factory=empty)

    @property
    def success_rate(self) -> float | None:
        """Return the share of calls that succeeded among those that were let through."""
        through = self.succeeded + self.failed
        return self.succeeded / through if through else None

    @property
    def p50(self) -> int | None:
        """Return the median duration in ms of the calls that ran."""
        return percentile(self.durations, 0.5)

    @property
    def p95(self) -> int | None:
        """Return the duration in ms that 95 of 100 calls stayed below."""
        return percentile(self.durations, 0.95)

    @property
    def p99(self) -> int | None:
        """Return the duration in ms that 99 of 100 calls stayed below."""
        return percentile(self.durations, 0.99)

    def as_json(self) -> JsonObject:
        """Return the shape that the REST API tells; unknown shares, durations, costs are null."""
        return {
            "calls": self.calls,
            "succeeded": self.succeeded,
            "failed": self.failed,
            "refused": self.refused,
            "faults": self.faults,
            "success_rate": None if self.success_rate is None else round(self.success_rate, 4),
            "p50_ms": self.p50,
            "p95_ms": self.p95,
            "p99_ms": self.p99,
            "cost_usd": None if self.cost is None else float(self.cost),
            "last_at": self.last_at.isoformat() if self.last_at else None,
        }


@dataclass(frozen=True, kw_only=True)
class ToolSummary:
    """A tool and what was called of it; `gone` when it is deleted."""

    tool_id: UUID
    name: str
    title: str
    gone: bool
    sums: Summary


@dataclass(frozen=True, kw_only=True)
class ErrorCount:
    """How often calls ended with one error."""

    code: str
    calls: int
    last_at: datetime
