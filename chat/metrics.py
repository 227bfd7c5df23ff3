"""What Prometheus reads of turns: those that ended, and those that are open."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Count
from django.utils import timezone
from prometheus_client import Counter
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from chat.models import Turn
from chat.models.turn import OPEN, TurnStatus
from config.lib.meters import REGISTRY

ENDED = Counter(
    "outfitter_turns",
    "Turns that ended, by their status and the code of their error.",
    ("status", "error"),
    registry=REGISTRY,
)

SILENT = timedelta(seconds=30)


class OpenTurns(Collector):
    """The turns that are not over, of all processes."""

    def collect(self) -> Iterator[Metric]:
        """Read them."""
        open_turns = Turn.objects.filter(status__in=OPEN).order_by()
        counts = dict.fromkeys((status.value for status in OPEN), 0)
        counts.update(open_turns.values_list("status").annotate(count=Count("pk")))
        told = GaugeMetricFamily(
            "outfitter_open_turns", "Turns that are not over, by their status.", labels=("status",)
        )
        for status, count in counts.items():
            told.add_metric((status,), count)
        yield told
        silent = open_turns.filter(
            status=TurnStatus.RUNNING, heartbeat_at__lt=timezone.now() - SILENT
        )
        yield GaugeMetricFamily(
            "outfitter_silent_turns",
            "Running turns whose process has given no sign of life for 30 seconds.",
            value=silent.count(),
        )
