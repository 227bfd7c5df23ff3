"""The one way in which this process talks to servers that a tool names: guarded HTTP.

`fetch` sends a request to its end, for callers in a thread. The two transports put the same guard
under an `httpx` client that somebody else drives.
"""

from registry.outbound.fetching import Answer, fetch
from registry.outbound.guard import Guard
from registry.outbound.transports import guarded_sync_transport, guarded_transport

__all__ = ["Answer", "Guard", "fetch", "guarded_sync_transport", "guarded_transport"]
