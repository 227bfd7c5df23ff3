"""What Prometheus reads at `/metrics` of tools: their calls, and the state of the sandbox."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Count
from django.utils import timezone
from django.utils.module_loading import import_string
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from config.lib import meters
from config.lib.meters import REGISTRY, SECONDS
from config.lib.types import JsonObject
from registry.errors import ToolError
from registry.models import EventDelivery, ImportJob, Invocation
from registry.models.event_subscription import DeliveryStatus
from registry.models.job import OPEN
from registry.sandbox.client import sandbox

RECENT = timedelta(minutes=5)

CALLS = Counter("outfitter_calls", "Calls of tools.", ("kind", "outcome"), registry=REGISTRY)
DURATIONS = Histogram(
    "outfitter_call_seconds",
    "How long calls of tools took.",
    ("kind",),
    buckets=SECONDS,
    registry=REGISTRY,
)
REFUSED = Counter(
    "outfitter_refused_calls",
    "Calls that were refused because of a limit or a stop.",
    ("kind", "reason", "recorded"),
    registry=REGISTRY,
)
ENDED = Counter(
    "outfitter_stopped_running_calls",
    "Running calls that were ended because their tool was stopped.",
    ("kind",),
    registry=REGISTRY,
)
UNLIMITED = Counter(
    "outfitter_uncounted_calls",
    "Calls that were not counted against a limit, for Redis did not answer.",
    registry=REGISTRY,
)


def call_ended(kind: str, error_code: str, seconds: float) -> None:
    """Count a call; the outcome is `succeeded` or the code of its error."""
    CALLS.labels(kind, error_code or "succeeded").inc()
    DURATIONS.labels(kind).observe(seconds)


def exposition() -> bytes:
    """Return all metrics in Prometheus' text format, read now."""
    return generate_latest(everything())


def everything() -> CollectorRegistry:
    """Return what the processes counted, and what tells how things stand now."""
    registry = CollectorRegistry()
    registry.register(_Counted())
    for path in settings.METRIC_COLLECTORS:
        registry.register(_Guarded(path))
    return registry


class _Counted(Collector):
    def collect(self) -> Iterator[Metric]:
        return iter(list(meters.counted().collect()))

    def describe(self) -> list[Metric]:
        return []  # so that registering it does not read everything


class _Guarded(Collector):
    """Tells what another collector tells, or nothing while the database is away."""

    def __init__(self, path: str) -> None:
        self._collector: Collector = import_string(path)()

    def collect(self) -> Iterator[Metric]:
        try:
            return iter(list(self._collector.collect()))
        except DatabaseError:
            return iter(())

    def describe(self) -> list[Metric]:
        return []


class Recorded(Collector):
    """What the database holds: the work of every process of the product."""

    def collect(self) -> Iterator[Metric]:
        """Count the calls of the last minutes and the imports that wait."""
        calls = GaugeMetricFamily(
            "outfitter_recent_calls",
            "Calls recorded in the last five minutes, by all processes.",
            labels=("kind", "outcome"),
        )
        since = timezone.now() - RECENT
        recent = Invocation.objects.filter(created_at__gte=since).order_by()
        for row in recent.values("tool__kind", "outcome").annotate(count=Count("pk")):
            calls.add_metric((row["tool__kind"], row["outcome"]), row["count"])
        yield calls
        waiting = ImportJob.objects.filter(status__in=OPEN).count()
        yield _gauge("outfitter_open_imports", "Imports that wait or are under way.", waiting)
        yield from _deliveries(since)


def _deliveries(since: datetime) -> Iterator[Metric]:
    ended = GaugeMetricFamily(
        "outfitter_recent_event_deliveries",
        "Events for programs that were delivered or given up in the last five minutes.",
        labels=("outcome",),
    )
    recent = EventDelivery.objects.filter(ended_at__gte=since).order_by()
    for row in recent.values("status").annotate(count=Count("pk")):
        ended.add_metric((row["status"],), row["count"])
    yield ended
    waiting = EventDelivery.objects.filter(
        status=DeliveryStatus.WAITING, subscription__active=True
    ).count()
    yield _gauge("outfitter_waiting_event_deliveries", "Events that wait to be sent.", waiting)


class SandboxState(Collector):
    """What the sandbox service says of itself."""

    def collect(self) -> Iterator[Metric]:
        """Ask the service; when it does not answer, only `outfitter_sandbox_up` is there: 0."""
        try:
            status = sandbox().status()
        except ToolError:
            yield _gauge("outfitter_sandbox_up", "Whether packages can run.", 0)
            return
        yield _gauge("outfitter_sandbox_up", "Whether packages can run.", int(status["ok"]))
        yield from _sandbox_metrics(status)


def _sandbox_metrics(status: JsonObject) -> Iterator[Metric]:
    memory, spares = status["memory"], status["spares"]
    name = "outfitter_sandbox"
    yield _gauge(f"{name}_running_calls", "Calls that run now.", status["running"])
    waiting = status["waiting"] + memory["waiting"]
    yield _gauge(f"{name}_waiting_calls", "Calls that wait for a place or memory.", waiting)
    yield _gauge(f"{name}_builds", "Packages that are being built.", len(status["builds"]))
    yield _gauge(f"{name}_memory_bytes", "Memory sandboxes count for.", memory["used"])
    yield _gauge(f"{name}_memory_budget_bytes", "Memory they may use.", memory["budget"])
    yield _gauge(f"{name}_spares", "Sandboxes that are ready for a call.", spares["ready"])
    for key, text in (
        ("hits", "Calls that found a spare."),
        ("misses", "Calls that had to start one."),
        ("evicted", "Spares ended to make room."),
        ("lost", "Spares that died before a call."),
    ):
        yield CounterMetricFamily(f"{name}_spares_{key}", text, value=spares[key])


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)
