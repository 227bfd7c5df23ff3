"""The whole product, running, for the flows that ask for it."""

from __future__ import annotations

from tests.live import live, live_processes

__all__ = ["live", "live_processes"]
