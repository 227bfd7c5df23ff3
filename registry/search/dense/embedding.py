"""Keep the vectors of tools up to date, a while at a time."""

import logging
import time

from registry.search.dense.choice import chosen_encoder
from registry.search.dense.encoder import EncoderUnavailable
from registry.search.dense.progress import problem_tell
from registry.search.dense.storing import at_work, vectors_round

logger = logging.getLogger(__name__)

LONGEST = 20.0
"""Seconds after which a worker is free again; the rest is due at the next beat."""


def tools_embed(*, seconds: float = LONGEST) -> int:
    """Work out vectors until no tool waits or the time is over; return of how many tools.

    Does nothing where no encoder is set, or while another worker is at it: one keeps a processor
    busy. Why an encoder gave none is kept for `manage.py doctor`.
    """
    started = time.monotonic()
    count = 0
    try:
        encoder = chosen_encoder()
        if encoder is None or at_work():
            return 0
        while time.monotonic() - started < seconds and (done := vectors_round(encoder)):
            count += done
    except EncoderUnavailable as problem:
        logger.warning("No vectors were worked out: %s", problem)
        problem_tell(str(problem))
    else:
        if count:
            problem_tell("")
    return count
