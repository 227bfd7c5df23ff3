"""One HTTP request and its answer, as the log, the metrics and the traces tell of them."""

import re
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import uuid4

WELL_FORMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}")
"""What the id of a request looks like that a proxy or a client may give."""


@dataclass(kw_only=True)
class Exchange:
    """What is known of a request; what answers it fills in the rest.

    `route` is the pattern of its address, which has no ids in it; `caller` is anonymous, session,
    token (a personal one), oauth or agent.
    """

    request_id: str
    route: str = ""
    caller: str = "anonymous"
    user_id: str = ""


_current: ContextVar[Exchange | None] = ContextVar("outfitter_exchange", default=None)


def current_exchange() -> Exchange | None:
    """Return the request that is being answered here; None outside of one, as in a test's."""
    return _current.get()


def exchange_of(given_id: str) -> Exchange:
    """Make the exchange of a request that came with this X-Request-ID, or with none."""
    return Exchange(request_id=given_id if WELL_FORMED.fullmatch(given_id) else str(uuid4()))


def exchange_begin(given_id: str) -> Exchange:
    """Make the exchange of a request, and let whoever answers it find it."""
    exchange = exchange_of(given_id)
    _current.set(exchange)
    return exchange
