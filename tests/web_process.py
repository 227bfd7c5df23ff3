"""A web server of a test's own, on this run's database: to be killed, or to stand beside others."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.live import START_SECONDS, Process, answers, environment, eventually, free_port

PRODUCT = "config.asgi:application"


@contextmanager
def web_process(
    folder: Path,
    *,
    app: str = PRODUCT,
    port: int | None = None,
    env: Mapping[str, str] | None = None,
    patience: int = 1,
) -> Iterator[tuple[Process, int]]:
    """Run an ASGI application in a process until the block ends; yields it and its port.

    `patience` is how many seconds it waits at its end for streams that are open.
    """
    port = port or free_port()
    command = [sys.executable, "-m", "uvicorn", app, "--port", str(port)]
    command += ["--log-level", "warning", "--timeout-graceful-shutdown", str(patience)]
    settings = {**environment(), "OUTFITTER_EMBEDDINGS": "off", **(env or {})}
    process = Process("web", command, settings, folder / f"web-{port}.log")
    process.start()
    try:
        url = f"http://127.0.0.1:{port}"
        eventually(
            lambda: process.lives() and answers(url), seconds=START_SECONDS, what="the web process"
        )
        yield process, port
    finally:
        process.stop()
