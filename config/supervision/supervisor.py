"""Run the plan until somebody says stop, and leave nothing behind."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from types import FrameType

from config import embedded
from config.embedded.service import stop_together
from config.lib.types import JsonObject
from config.supervision.console import Console
from config.supervision.plan import Plan

TICK_SECONDS = 0.1
CHECK_SECONDS = 5.0
"""How often PostgreSQL and Redis are looked at, and brought back when their keeper has died."""

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Supervisor:
    """Start the services of a plan, watch them, and stop them in order.

    `opened` runs once, when the web process first answers; `ready` says whether it does, and
    `seedable` whether the demonstration data can be made (None: make none).
    """

    def __init__(
        self,
        plan: Plan,
        console: Console,
        *,
        ready: Callable[[], bool],
        opened: Callable[[], None],
        seedable: Callable[[], bool] | None,
    ) -> None:
        self._plan = plan
        self._console = console
        self._ready = ready
        self._opened = opened
        self._seedable = seedable
        self._stopping = False
        self._next_check = 0.0

    def run(self) -> None:
        """Run until SIGINT, SIGTERM or SIGHUP; return when every process has ended."""
        for number in STOP_SIGNALS:
            signal.signal(number, self._on_signal)
        try:
            for service in self._plan.lasting:
                service.start()
            self._watch()
        finally:
            self._stop()

    def _watch(self) -> None:
        opening = self._opening()
        while not self._stopping:
            for service in [*self._plan.lasting, self._plan.seed]:
                service.watch()
            self._keep_embedded()
            next(opening, None)
            time.sleep(TICK_SECONDS)

    def _opening(self) -> Iterator[None]:
        """Do what follows the start; yield wherever it has to wait."""
        while not self._ready():
            yield
        self._opened()
        if self._seedable is None:
            return
        while not self._seedable():
            yield
        self._plan.seed.start()

    def _keep_embedded(self) -> None:
        if time.monotonic() < self._next_check:
            return
        try:
            embedded.ensure()
        except embedded.EmbeddedServiceError as error:
            self._console.say(str(error))
        self._next_check = time.monotonic() + CHECK_SECONDS

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if not self._stopping:
            self._console.say("Stopping …")
        self._stopping = True

    def _stop(self) -> None:
        for together in self._plan.stop_order:
            stop_together(together)
        embedded.stop()
        self._console.say("Stopped.")


def responds(host: str, port: int, path: str) -> bool:
    """Return whether a GET of `path` is answered with status 200 within two seconds."""
    return _asked(host, port, path, 2)[0] == HTTPStatus.OK


def answer_of(host: str, port: int, path: str) -> JsonObject | None:
    """Return the JSON that a GET of `path` gives, whatever its status; None without an answer."""
    try:
        answer: JsonObject = json.loads(_asked(host, port, path, 10)[1])
    except ValueError:
        return None
    return answer


def _asked(host: str, port: int, path: str, seconds: float) -> tuple[int, bytes]:
    """Return the status and body of an answer, 0 and nothing where none comes in time."""
    connection = HTTPConnection(host, port, timeout=seconds)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, HTTPException):
        return 0, b""
    finally:
        connection.close()
