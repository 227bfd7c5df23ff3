"""Wait for a database that restarts."""

import logging
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay
from tenacity.wait import wait_exponential

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

PATIENCE_SECONDS = 60.0

AWAY = (OperationalError, InterfaceError)
"""What is raised while the database cannot be reached."""


def patiently(act: Callable[[], Answer]) -> Answer:
    """Do something in the database, again for up to a minute while it cannot be reached.

    `act` must be such that it may be done twice: a commit may have reached the database although
    its answer did not come back. Inside a transaction it is done once, for a transaction that lost
    its connection is over.
    """
    if connection.in_atomic_block:
        return act()
    try:
        return act()
    except AWAY as problem:
        _let_go(problem)
    retrying = Retrying(
        stop=stop_after_delay(PATIENCE_SECONDS),
        wait=wait_exponential(multiplier=0.1, max=2),
        retry=retry_if_exception_type(AWAY),
        before_sleep=_reconnect,
        reraise=True,
    )
    return retrying(act)


def _reconnect(state: RetryCallState) -> None:
    _let_go(state.outcome.exception() if state.outcome else None)


def _let_go(problem: BaseException | None) -> None:
    logger.warning("The database does not answer, trying again: %s", problem)
    connection.close()
