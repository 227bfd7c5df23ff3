"""A call of somebody else's that runs while the attacks do, in a sandbox of its own."""

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from registry.errors import CallCancelled, ToolTimeout
from registry.sandbox.client import Artifact, LocalSandbox
from tests.registry.sandbox.service import becomes_true

Hold = Callable[[str, threading.Event], object]
"""Calls the tool that keeps a secret, wherever one can be kept, until it is cancelled."""


@dataclass
class Neighbour:
    """What the attacks are after; `ended` is how the call ended, and None as long as it runs."""

    secret: str = field(default_factory=lambda: f"neighbour-{secrets.token_hex(8)}")
    ended: BaseException | None = None
    cancel: threading.Event = field(default_factory=threading.Event)

    def check(self, *said: object) -> None:
        """Fail when the call was disturbed, or when its secret is in what an attack brought."""
        assert self.ended is None, self.ended
        assert self.secret not in str(said)


@contextmanager
def running_neighbour(hold: Hold, is_running: Callable[[], object]) -> Iterator[Neighbour]:
    """Run the call until the block ends; it must end because it is cancelled, and only then."""
    neighbour = Neighbour()

    def run() -> None:
        try:
            while True:  # a slow machine attacks for longer than any one call may take
                with contextlib.suppress(ToolTimeout):
                    hold(neighbour.secret, neighbour.cancel)
                    break
        except BaseException as error:
            neighbour.ended = error
        else:
            neighbour.ended = AssertionError("the neighbour's call came back")

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert becomes_true(is_running)
    try:
        yield neighbour
        neighbour.check()
    finally:
        neighbour.cancel.set()
        thread.join()
    assert isinstance(neighbour.ended, CallCancelled)


def calling_neighbour(
    client: LocalSandbox, package: Artifact, is_running: Callable[[], object]
) -> AbstractContextManager[Neighbour]:
    """Run somebody else's call of a package, with a secret in its arguments and environment."""

    def hold(secret: str, cancel: threading.Event) -> object:
        return client.call(
            artifact=package.artifact,
            export="hold",
            arguments={"secret": secret},
            env={"SECRET": secret},
            tenant="somebody else",
            timeout_seconds=300,
            cancel=cancel,
        )

    return running_neighbour(hold, is_running)
