"""Ask the npm registry what it has: packages by keyword, and the newest version of one.

It is the registry that the operator's client is configured for, with its credentials, proxy and
certificates. Answers are bounded in time and size, and redirects to elsewhere are not followed.
"""

import asyncio
import contextlib
import datetime
import shutil
import ssl
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx

from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import MB
from registry.sandbox.service.npmrc import Npmrc, read_npmrc
from registry.sandbox.service.wire import Violation, parse_json

ASK_SECONDS = 20.0
CLIENT_SECONDS = 15.0
MAX_ANSWER_BYTES = 24 * MB
MOST_DOWNLOADS = 2**53
LONGEST_WAIT = 24 * 3600
"""Seconds; a registry that asks for more patience is asked again after a day."""
MAX_PAGE = 2000
MOST_KEYWORDS = 100
ABBREVIATED = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8"
NOT_FOUND, TOO_MANY, UNAVAILABLE = 404, 429, 503
REFUSED = (401, 403)
NO_SEARCH = (400, 404, 405, 410, 501)
CONFIGURE = "Set NPM_CONFIG_REGISTRY, or registry= in ~/.npmrc, and restart the sandbox service."


@dataclass(frozen=True, slots=True)
class Version:
    """What a registry says of one version; empty texts where it says nothing."""

    version: str = ""
    integrity: str = ""
    deprecated: str = ""
    install_scripts: bool = False


class NpmRegistry:
    """The configured registry, asked over HTTP. Make it before root is given up (certificates)."""

    def __init__(self, npmrc: bytes, certificates: bytes, environment: Mapping[str, str]) -> None:
        self._npmrc: Npmrc = read_npmrc(npmrc, environment)
        self._environment = environment
        self._tls = _tls(certificates)
        self._default = ""

    async def search(self, text: str, offset: int, size: int) -> dict[str, Any]:
        """Return `{packages, total}` of one page of a search.

        A package is `{name, version, date, keywords, downloads}`; `downloads` and `total` are None
        where the registry does not say. Raises ServiceError.
        """
        base = await self._registry("")
        query = urlencode({"text": text, "size": min(size, MAX_PAGE), "from": offset})
        answer = await self._get(f"{base}-/v1/search?{query}", base, "search")
        objects = answer.get("objects")
        if not isinstance(objects, list):
            raise _odd(base, "its search result has no list of objects")
        total = answer.get("total")
        return {
            "packages": [found for item in objects[:MAX_PAGE] if (found := _package(item))],
            "total": total if isinstance(total, int) and not isinstance(total, bool) else None,
        }

    async def newest(self, name: str, current: str) -> dict[str, Any]:
        """Return `{newest, current}`, each what the registry says of that version of a package.

        `current.version` is empty when the registry has it no longer. Raises ServiceError.
        """
        base = await self._registry(name)
        answer = await self._get(f"{base}{quote(name, safe='@')}", base, name)
        versions, tags = answer.get("versions"), answer.get("dist-tags")
        if not isinstance(versions, dict) or not isinstance(tags, dict):
            raise _odd(base, f"what it says of {name} has no versions")
        return {
            "newest": _version(str(tags.get("latest") or ""), versions),
            "current": _version(current, versions),
        }

    async def serving(self, name: str) -> str:
        """Return the address of the registry that a package comes from. Raises ServiceError."""
        return await self._registry(name)

    async def sent(self, base: str, path: str, content: Any, *, most: int) -> Any:
        """Send JSON to a registry and return its answer of at most `most` bytes.

        None where it does not answer with JSON: it need not offer what is asked for. The caller
        bounds the time.
        """
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        headers |= self._npmrc.headers_of(base)
        try:
            async with (
                self._client() as client,
                client.stream("POST", f"{base}{path}", json=content, headers=headers) as response,
            ):
                if response.status_code != httpx.codes.OK:
                    return None
                body = await _bounded(response, base, most)
            return await asyncio.to_thread(parse_json, body)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ServiceError, Violation):
            return None

    async def _registry(self, name: str) -> str:
        address = self._npmrc.registry_of(name) or self._default
        if not address:
            self._default = address = await asyncio.to_thread(_client_default)
        if urlsplit(address).scheme not in ("http", "https"):
            message = "The npm client is configured for no registry."
            raise ServiceError("registry_unreachable", message, CONFIGURE)
        return address

    async def _get(self, url: str, base: str, what: str) -> dict[str, Any]:
        # identity: a small answer must not unpack into a huge one.
        headers = {"Accept": ABBREVIATED, "Accept-Encoding": "identity"}
        headers |= self._npmrc.headers_of(base)
        try:
            async with (
                asyncio.timeout(ASK_SECONDS),
                self._client() as client,
                client.stream("GET", url, headers=headers) as response,
            ):
                _check(response, base, what)
                body = await _bounded(response, base)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError) as error:
            why = " ".join(str(error).split())[:200] or "no answer in time"
            message = f"The npm registry at {_host(base)} could not be asked: {why}."
            hint = "Check the network, NPM_CONFIG_REGISTRY and the proxy settings, then try again."
            raise ServiceError("registry_unreachable", message, hint) from None
        try:
            answer = await asyncio.to_thread(parse_json, body)
        except Violation:
            raise _odd(base, "its answer is not JSON") from None
        if not isinstance(answer, dict):
            raise _odd(base, "its answer is not a JSON object")
        return answer

    def _client(self) -> httpx.AsyncClient:
        named = any(name.lower().endswith("_proxy") for name in self._environment)
        proxy = None if named else self._npmrc.proxy or None
        return httpx.AsyncClient(
            verify=self._tls, timeout=ASK_SECONDS, follow_redirects=False, proxy=proxy
        )


def _tls(certificates: bytes) -> ssl.SSLContext:
    context = httpx.create_ssl_context()
    with contextlib.suppress(ssl.SSLError, ValueError):
        if certificates:
            context.load_verify_locations(cadata=certificates.decode("ascii", errors="ignore"))
    return context


def _client_default() -> str:
    """Ask npm itself where nothing else says it; without npm there is no default to be had."""
    npm = shutil.which("npm")
    if npm is None:
        return ""
    try:
        done = subprocess.run(
            [npm, "config", "get", "registry"],
            cwd="/",
            check=False,
            capture_output=True,
            text=True,
            timeout=CLIENT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    said = done.stdout.strip().rstrip("/")
    return f"{said}/" if done.returncode == 0 and said.startswith("http") else ""


def _check(response: httpx.Response, base: str, what: str) -> None:
    status, host = response.status_code, _host(base)
    if status == httpx.codes.OK:
        return
    if status in (TOO_MANY, UNAVAILABLE):
        seconds = _retry_after(response.headers.get("Retry-After", ""))
        message = f"The npm registry at {host} asks to be left alone for a while (HTTP {status})."
        hint = "It is asked again when it said; look less often if this comes often."
        raise ServiceError("registry_limited", message, hint, retry_after=seconds)
    if status in REFUSED:
        message = f"The npm registry at {host} refused to answer (HTTP {status})."
        hint = "See that ~/.npmrc has a valid token for it, then restart the sandbox service."
        raise ServiceError("registry_refused", message, hint)
    if what == "search" and status in NO_SEARCH:
        message = f"The npm registry at {host} offers no search (HTTP {status})."
        hint = "Use a registry that has one; packages can still be imported and refreshed by name."
        raise ServiceError("registry_no_search", message, hint)
    if status == NOT_FOUND:
        message = f"There is no npm package called {what} in the registry."
        raise ServiceError("package_not_found", message, "It may have been unpublished.")
    if response.is_redirect:
        message = f"The npm registry at {host} answers from another address."
        hint = "Configure the client with the registry's own address."
        raise ServiceError("registry_unreachable", message, hint)
    message = f"The npm registry at {host} answered with HTTP {status}."
    raise ServiceError("registry_unreachable", message, "Try again later.")


async def _bounded(response: httpx.Response, base: str, most: int | None = None) -> bytes:
    most = MAX_ANSWER_BYTES if most is None else most
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > most:
            raise _odd(base, f"its answer is larger than {most // MB} MB")
    return bytes(body)


def _retry_after(said: str) -> int | None:
    """Return seconds to wait, from a number or a date; None when nothing is said."""
    if said.isdecimal():
        return min(int(said[:9]), LONGEST_WAIT)
    try:
        until = parsedate_to_datetime(said)
    except (TypeError, ValueError):
        return None
    now = datetime.datetime.now(datetime.UTC)
    if until.tzinfo is None:
        return None
    return max(0, min(int((until - now).total_seconds()), LONGEST_WAIT))


def _package(item: Any) -> dict[str, Any] | None:
    """Return what is used of one search result; None for what is none."""
    package = item.get("package") if isinstance(item, dict) else None
    if not isinstance(package, dict) or not isinstance(package.get("name"), str):
        return None
    version = package.get("version") or _mapping(package.get("dist-tags")).get("latest")
    date = package.get("date") or _mapping(package.get("time")).get("modified")
    keywords = package.get("keywords")
    words = keywords[:MOST_KEYWORDS] if isinstance(keywords, list) else []
    return {
        "name": package["name"][:214],
        "version": version[:64] if isinstance(version, str) else "",
        "date": date[:40] if isinstance(date, str) else "",
        "keywords": [word[:100] for word in words if isinstance(word, str)],
        "downloads": _monthly(item),
    }


def _monthly(item: Mapping[str, Any]) -> int | None:
    """Return the downloads of the last month, where the registry tells of them in its search."""
    count = _mapping(item.get("downloads")).get("monthly")
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        return None
    return min(count, MOST_DOWNLOADS)


def _version(version: str, versions: Mapping[str, Any]) -> dict[str, Any]:
    said = versions.get(version)
    if not isinstance(said, dict):
        return _fields(Version())
    integrity, deprecated = _mapping(said.get("dist")).get("integrity"), said.get("deprecated")
    scripts = _mapping(said.get("scripts"))
    return _fields(
        Version(
            version=version[:64],
            integrity=integrity[:200] if isinstance(integrity, str) else "",
            deprecated=deprecated[:500] if isinstance(deprecated, str) else "",
            install_scripts=said.get("hasInstallScript") is True
            or any(name in scripts for name in ("preinstall", "install", "postinstall")),
        )
    )


def _fields(version: Version) -> dict[str, Any]:
    return {name: getattr(version, name) for name in Version.__slots__}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _odd(base: str, why: str) -> ServiceError:
    message = f"The npm registry at {_host(base)} cannot be understood: {why}."
    hint = "See that NPM_CONFIG_REGISTRY leads to an npm registry; then try again."
    return ServiceError("registry_odd", message, hint)


def _host(address: str) -> str:
    parts = urlsplit(address)
    return parts.hostname or address[:80]
