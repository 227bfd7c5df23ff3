"""What both transports make of httpx: requests, answers, losses."""

from __future__ import annotations

from typing import Any

import httpx

from outfitter_client.wire import Lost, Reply, Request

USER_AGENT = "outfitter-client/0.1"
CONNECT_SECONDS = 10.0
OK = 200


def settings(url: str, timeout: float) -> dict[str, Any]:
    """Return what an httpx client is made with; no redirect takes the token elsewhere."""
    return {
        "base_url": url,
        "timeout": httpx.Timeout(timeout, connect=CONNECT_SECONDS),
        "follow_redirects": False,
        "headers": {"User-Agent": USER_AGENT, "Accept": "application/json"},
    }


def sendable(request: Request, default: float) -> dict[str, Any]:
    """Return what `build_request` of httpx takes."""
    headers = dict(request.headers)
    if request.basic:
        headers |= _basic(*request.basic)
    fields: dict[str, Any] = {
        "method": request.method,
        "url": request.path,
        "headers": headers,
        "timeout": httpx.Timeout(request.timeout or default, connect=CONNECT_SECONDS),
    }
    if request.params:
        fields["params"] = dict(request.params)
    if request.json is not None:
        fields["json"] = request.json
    if request.form is not None:
        fields["data"] = dict(request.form)
    if request.files is not None:
        fields["files"] = dict(request.files)
    return fields


def lost(error: httpx.TransportError) -> Lost:
    """Return what is known of a connection that failed."""
    never_sent = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
    return Lost(str(error) or type(error).__name__, sent=not isinstance(error, never_sent))


def is_stream(response: httpx.Response) -> bool:
    """Say whether an answer is the stream that was asked for, and not an error."""
    kind = response.headers.get("content-type", "")
    return response.status_code == OK and kind.startswith("text/event-stream")


def reply_of(response: httpx.Response, *, stream: bool = False) -> Reply:
    """Return an answer; its body as JSON where it is that, else as bytes."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    if stream:
        return Reply(response.status_code, headers, stream=response)
    try:
        body: Any = response.json() if response.content else None
    except ValueError:
        body = response.content
    return Reply(response.status_code, headers, body)


def _basic(client_id: str, secret: str) -> dict[str, str]:
    """Return the header of RFC 6749, 2.3.1: both parts are form-encoded first."""
    from base64 import b64encode
    from urllib.parse import quote_plus

    pair = f"{quote_plus(client_id)}:{quote_plus(secret)}"
    return {"authorization": f"Basic {b64encode(pair.encode()).decode()}"}
