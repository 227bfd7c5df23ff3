"""What Prometheus reads of runs: those that ended, that wait, that a worker has or has lost."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Count, Min
from django.utils import timezone
from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from config.lib.meters import REGISTRY, SECONDS
from sequences.models import Run
from sequences.models.run import FINISHED, RunStatus

ENDED = Counter(
    "outfitter_runs", "Runs that ended, by their status.", ("status",), registry=REGISTRY
)
DURATIONS = Histogram(
    "outfitter_run_seconds",
    "How long runs took from their first start, waiting for people included.",
    buckets=(*SECONDS, 3600, 86400),
    registry=REGISTRY,
)
STEPS = Counter(
    "outfitter_steps",
    "Steps of runs that came to an end, or to a wait.",
    ("status",),
    registry=REGISTRY,
)


def run_ended(status: str, started_at: datetime | None) -> None:
    """Count a run that is over."""
    ENDED.labels(status).inc()
    if started_at is not None:
        DURATIONS.observe(max(0.0, (timezone.now() - started_at).total_seconds()))


class OpenRuns(Collector):
    """The runs that are not over, of all processes."""

    def collect(self) -> Iterator[Metric]:
        """Read them."""
        now = timezone.now()
        open_runs = Run.objects.exclude(status__in=FINISHED).order_by()
        counts = dict.fromkeys((s.value for s in RunStatus if s not in FINISHED), 0)
        counts.update(open_runs.values_list("status").annotate(count=Count("pk")))
        told = GaugeMetricFamily(
            "outfitter_open_runs", "Runs that are not over, by their status.", labels=("status",)
        )
        for status, count in counts.items():
            told.add_metric((status,), count)
        yield told
        running = open_runs.filter(status=RunStatus.RUNNING)
        leases = GaugeMetricFamily(
            "outfitter_run_leases",
            "Runs that a worker has, by the state of its lease.",
            labels=("state",),
        )
        leases.add_metric(("held",), running.filter(lease_until__gte=now).count())
        leases.add_metric(("expired",), running.filter(lease_until__lt=now).count())
        yield leases
        queued = open_runs.filter(status=RunStatus.QUEUED, parent_step=None)
        first = queued.aggregate(first=Min("created_at"))["first"]
        yield GaugeMetricFamily(
            "outfitter_oldest_queued_run_seconds",
            "Age of the oldest run that waits for a worker; 0: none waits.",
            value=(now - first).total_seconds() if first else 0,
        )
