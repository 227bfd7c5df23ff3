"""Take along into another thread what log lines are marked with, and the place in a trace."""

from collections.abc import Callable
from typing import TypeVar

from config.lib import traces
from config.lib.logs import hidden, hiding, noted, noted_ids

T = TypeVar("T")


def carried(work: Callable[[], T]) -> Callable[[], T]:
    """Return `work` as it is to be run in another thread."""
    ids, maskers, place = noted_ids(), hidden(), traces.here()
    if not ids and not maskers and place is None:
        return work

    def run() -> T:
        with noted(**ids), hiding(*maskers):
            if place is None:
                return work()
            with traces.resumed(place):
                return work()

    return run
