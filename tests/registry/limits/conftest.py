"""The whole product, running, for what must reach every process."""

from __future__ import annotations

from tests.live import live, live_processes

__all__ = ["live", "live_processes"]
