"""Prove that a sandbox with a way out has that one and no other.

Where it fails, tools with network are closed; the others have nothing to do with it.
"""

import socket
from dataclasses import replace
from typing import Any

from registry.sandbox.service import javascript
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import SELF_TEST_SECONDS
from registry.sandbox.service.netns import PROXY_PORT
from registry.sandbox.service.process import Guest, GuestFailure
from registry.sandbox.service.runtime import Runtime

ALLOWED = ("allowed.invalid",)
DENIED = "HTTP/1.1 403 Forbidden"


async def trouble(runtime: Runtime) -> str:
    """Return what is wrong with the way out, in words; empty when nothing is."""
    profile = replace(javascript.canary(runtime), egress=ALLOWED)
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            params = {"proxy": PROXY_PORT, "host": listener.getsockname()[1]}
            async with await Guest.start(runtime, profile) as guest:
                answer = await guest.request("reach", params, seconds=SELF_TEST_SECONDS)
    except ServiceError as error:
        return error.message
    except (GuestFailure, TimeoutError, OSError) as error:
        return f"The canary did not reach the proxy: {error or 'no answer in time'}."
    return judge(answer.result)


def judge(seen: Any) -> str:
    """Compare what the canary could do with what must be."""
    if not isinstance(seen, dict) or seen.get("answer") != DENIED:
        return "The proxy did not refuse a host that is not allowed."
    if seen.get("escapes") != []:
        return "A sandbox with network reached a port of this machine past the proxy."
    return ""
