"""The product, with tools that write down each of their calls, and a beat that looks often."""

from __future__ import annotations

from config.settings import *  # noqa: F403

APPENDING = "tests.durability.appending.AppendingExecutor"
TOOL_EXECUTORS = {**TOOL_EXECUTORS, "npm": APPENDING, "api": APPENDING}  # noqa: F405
TOOL_CALLS_PER_MINUTE = 0
RUN_LEASE_SECONDS = 3.0
CELERY_BEAT_SCHEDULE = {"recover-runs": {"task": "sequences.tasks.recover_runs", "schedule": 1.0}}
CELERY_IMPORTS = ("tests.benchmarks.tasks",)
