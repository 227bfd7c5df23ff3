"""What this process counts for Prometheus.

With PROMETHEUS_MULTIPROC_DIR every process of a machine (web, workers and their children) keeps
its counts in a file of that folder, and any web process tells the sum of all of them. Without it a
process tells only its own. What the database knows is told by the collectors in the setting
METRIC_COLLECTORS. Why so: docs/decisions/0024-operate.md.
"""

import os
import socket
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram, values
from prometheus_client.multiprocess import MultiProcessCollector

FOLDER = os.environ.get("PROMETHEUS_MULTIPROC_DIR", "").strip()
"""Where the processes of this machine keep their counts; empty: each by itself."""

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
FEW_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120)
"""Fewer, for what has many labels."""


def _process() -> str:
    """Return a name that no other process has which writes into the same folder."""
    return f"{socket.gethostname().replace('_', '-')}-{os.getpid()}"


if FOLDER:
    Path(FOLDER).mkdir(parents=True, exist_ok=True)
    values.ValueClass = values.MultiProcessValue(process_identifier=_process)  # type: ignore[no-untyped-call]

REGISTRY = CollectorRegistry()
"""What this process counts itself."""

REQUESTS = Counter(
    "outfitter_http_requests",
    "Requests that were answered.",
    ("method", "route", "status"),
    registry=REGISTRY,
)
REQUEST_SECONDS = Histogram(
    "outfitter_http_request_seconds",
    "How long answers took, to the last byte; streams of events last as long as they are watched.",
    ("method", "route"),
    buckets=FEW_SECONDS,
    registry=REGISTRY,
)
MCP_REQUESTS = Counter(
    "outfitter_mcp_requests",
    "Requests and notifications of MCP clients.",
    ("method", "era", "outcome"),
    registry=REGISTRY,
)
MCP_SECONDS = Histogram(
    "outfitter_mcp_request_seconds",
    "How long answers to MCP clients took.",
    ("method",),
    buckets=FEW_SECONDS,
    registry=REGISTRY,
)


def counted() -> CollectorRegistry:
    """Return a registry with what was counted: by all processes of the folder, or by this one."""
    if not FOLDER:
        return REGISTRY
    gathered = CollectorRegistry()
    MultiProcessCollector(gathered, path=FOLDER)  # type: ignore[no-untyped-call]
    return gathered
