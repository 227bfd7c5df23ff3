"""Send one message, guarded: what an address may be, and what is kept of its answer."""

import asyncio
import ipaddress
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

import httpcore
import httpx
from django.conf import settings
from django.utils import timezone

from config.lib.addresses import Allowed
from config.lib.jsontext import clean_text
from config.lib.masking import Masker
from config.lib.types import JsonObject
from registry.errors import HostRefused, ToolError
from registry.notify.errors import EventAddressRefused
from registry.notify.retries import retry_after
from registry.outbound import Guard, guarded_transport
from registry.outbound.guard import DEFAULT_PORT

USER_AGENT = "Outfitter-Events/1"
LONGEST_URL = 1_000
LARGEST_ANSWER = 1_000_000
"""Bytes of an answer, beyond which the delivery counts as failed."""

READ = 2_000
"""Bytes of an answer that are read at all."""

EXCERPT = 300
"""Characters of it that are kept."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """How it went once: `status` is the HTTP status, None where nothing was answered."""

    at: datetime
    ms: int
    status: int | None = None
    code: str = ""
    message: str = ""
    answer: str = ""
    asked_wait: timedelta | None = None

    @property
    def succeeded(self) -> bool:
        """Tell whether the receiver took it."""
        return self.status is not None and httpx.codes.is_success(self.status)

    @property
    def gone(self) -> bool:
        """Tell whether the receiver wants no more events, ever."""
        return self.status == httpx.codes.GONE

    def as_json(self) -> JsonObject:
        """Return what is kept of it."""
        error = {"code": self.code, "message": self.message} if self.code else None
        return {
            "at": self.at.isoformat(),
            "ms": self.ms,
            "status": self.status,
            "error": error,
            "answer": self.answer,
        }


@dataclass(frozen=True, kw_only=True)
class EventGuard(Guard):
    """The guard of every outgoing request; without TLS it lets through what is allowed by name."""

    plain: bool = False

    def addresses_of(self, host: str, port: int) -> list[str]:
        """Return the addresses to dial, as the guard does; `plain` ones must have been allowed."""
        found = super().addresses_of(host, port)
        if self.plain and not all(_is_lifted(address, port, self.allow) for address in found):
            raise HostRefused(
                f"{host} would be told of events without encryption.",
                "Use https. An operator can allow addresses in their own network with "
                "OUTBOUND_ALLOW.",
                host=host,
            )
        return found


def _is_lifted(address: str, port: int, allow: tuple[Allowed, ...]) -> bool:
    """Tell whether the operator's list names the address."""
    parsed = ipaddress.ip_address(address)
    return any(entry.port in (None, port) and parsed in entry.network for entry in allow)


def _guard_of(url: httpx.URL) -> EventGuard:
    return EventGuard(max_bytes=LARGEST_ANSWER, plain=url.scheme != "https")


def require_address(text: str) -> str:
    """Return an address as it is kept, or raise EventAddressRefused: bad, private, not https."""
    text = text.strip()
    try:
        if len(text) > LONGEST_URL or text != clean_text(text) or not text.isprintable():
            raise EventAddressRefused(
                "This is not an address.", f"Write https://host/path, up to {LONGEST_URL} letters."
            )
        url = httpx.URL(text)
        if url.fragment:
            raise EventAddressRefused(
                "What follows # is never sent to a server.", "Leave it out of the address."
            )
        guard = _guard_of(url)
        guard.check_url(url)
        guard.addresses_of(url.raw_host.decode("ascii"), url.port or DEFAULT_PORT[url.scheme])
    except (httpx.InvalidURL, ValueError):
        raise EventAddressRefused("This is not an address.", "Write https://host/path.") from None
    except HostRefused as error:
        raise EventAddressRefused(error.message, error.hint) from None
    except httpcore.ConnectError:
        pass  # a name may come to be; the first attempt tells
    return text


def send(url: str, body: str, headers: dict[str, str], *, secrets: list[str]) -> Attempt:
    """Post a message and say how it went; never raises. Call it in a thread without a loop.

    No redirect is followed. `secrets` are put out of sight in what is kept of the answer.
    """
    at, began = timezone.now(), time.monotonic()
    masker = Masker(secrets)
    told: JsonObject = {}
    try:
        told = asyncio.run(_post(url, body.encode(), headers))
    except TimeoutError:
        seconds = settings.EVENT_TIMEOUT_SECONDS
        told = {"code": "event_timeout", "message": f"No answer within {seconds:g} seconds."}
    except ToolError as error:
        told = {"code": error.code, "message": error.message}
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        told = {"code": "event_unreachable", "message": _words(error)}
    asked = retry_after(told.pop("retry_after", None), at)
    # what is read may end within a secret: its beginning is held back
    answer = masker.stream().take(told.get("answer", ""))
    told["answer"] = clean_text(answer)[:EXCERPT]
    told["message"] = clean_text(masker.text(told.get("message", "")))[:EXCERPT]
    return Attempt(at=at, ms=round((time.monotonic() - began) * 1_000), asked_wait=asked, **told)


async def _post(url: str, body: bytes, headers: dict[str, str]) -> JsonObject:
    request = httpx.Request(
        "POST",
        url,
        content=body,
        headers={
            **headers,
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": USER_AGENT,
            "Accept": "*/*",
        },
    )
    seconds = settings.EVENT_TIMEOUT_SECONDS
    request.extensions["timeout"] = httpx.Timeout(seconds).as_dict()
    guard = _guard_of(request.url)
    async with asyncio.timeout(seconds), guarded_transport(guard) as transport:
        response = await transport.handle_async_request(request)
        try:
            read = b""
            async for part in response.aiter_raw():
                read += part
                if len(read) >= READ:
                    break
        finally:
            await response.aclose()
    told: JsonObject = {
        "status": response.status_code,
        "answer": read[:READ].decode("utf-8", "replace"),
        "retry_after": response.headers.get("Retry-After"),
    }
    if not response.is_success:
        told |= {"code": "event_refused", "message": _refusal(response)}
    return told


def _refusal(response: httpx.Response) -> str:
    if response.has_redirect_location:
        return "The address leads elsewhere (a redirect), which is not followed."
    said = f"{response.status_code} {response.reason_phrase}".strip()
    return f"The address answered {said}."


def _words(error: Exception) -> str:
    match error:
        case httpx.ConnectTimeout():
            return "The connection was not accepted in time."
        case httpx.TimeoutException():
            return "The answer did not come in time."
        case httpx.ConnectError():
            return " ".join(str(error).split())[:200] or "No connection."
        case httpx.ProtocolError():
            return "The answer is not valid HTTP."
        case _:
            return "The connection broke off."
