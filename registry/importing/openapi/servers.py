"""Where the requests of a document's operations go."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, product
from urllib.parse import urljoin, urlsplit

from config.lib.types import JsonObject, JsonValue
from registry.importing.errors import DocumentProblem, InvalidDocument
from registry.importing.openapi.document import place
from registry.importing.openapi.references import CannotTakeError

MOST_SERVERS = 50
"""Addresses that are offered; the values of a server's variables make several of one."""

_VARIABLE = re.compile(r"\{([^{}]+)\}")


def servers_of(document: JsonObject, source: str) -> list[tuple[str, str]]:
    """Return `(address, description)` of the document's servers, the first one meant as usual.

    Relative ones are resolved against `source`, the document's own address; without it they stay
    relative and cannot be asked. Raises InvalidDocument.
    """
    found: dict[str, str] = {}
    given = document.get("servers") or [{"url": "/"}]
    for index, server in enumerate(given):
        try:
            addresses = list(islice(_addresses(server, place("servers", index)), MOST_SERVERS))
        except CannotTakeError as error:
            raise InvalidDocument([DocumentProblem(error.path, error.why)]) from None
        for address in addresses:
            found.setdefault(resolved(address, source), str(server.get("description") or ""))
    return list(found.items())[:MOST_SERVERS]


def first_server(servers: JsonValue, path: str, source: str) -> str:
    """Return the address of the servers that an operation or a path has for itself."""
    if not isinstance(servers, list):
        raise CannotTakeError(path, "This must be a list of servers.")
    return resolved(next(_addresses(servers[0], f"{path}[0]")), source)


def resolved(address: str, source: str) -> str:
    """Return a server's full address, without a slash at its end."""
    full = urljoin(source, address) if source else address
    return full.rstrip("/")


def server_problem(address: str) -> str:
    """Say what keeps an address from being a server; empty when nothing does."""
    try:
        parts = urlsplit(address)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        return f"“{address[:120]}” is not an address."
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return f"“{address[:120]}” is not a full address such as https://api.example.com/v1."
    if parts.username or parts.password:
        return "An address must not hold a user name or password; they are credentials."
    if not port_is_fine or parts.query or parts.fragment or re.search(r"[\s{}\\]", address):
        return f"“{address[:120]}” cannot be the beginning of an address."
    return ""


def host_pattern(address: str) -> str:
    """Return the host of an address as a package's allowed hosts name it."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{parts.port}" if parts.port else host


def _addresses(server: JsonValue, path: str) -> Iterator[str]:
    """Yield a server's address for its variables' defaults, then for all their values."""
    if not isinstance(server, dict) or not isinstance(server.get("url"), str):
        raise CannotTakeError(path, "A server must be an object with a “url”.")
    url, variables = server["url"], server.get("variables", {})
    names = list(dict.fromkeys(_VARIABLE.findall(url)))
    choices = [_values(variables, name, path) for name in names]
    for values in product(*choices):
        chosen = dict(zip(names, values, strict=True))
        yield _VARIABLE.sub(_from(chosen), url)


def _from(chosen: Mapping[str, str]) -> Callable[[re.Match[str]], str]:
    return lambda match: chosen[match[1]]


def _values(variables: JsonValue, name: str, path: str) -> list[str]:
    variable = variables.get(name) if isinstance(variables, Mapping) else None
    if not isinstance(variable, dict) or not isinstance(variable.get("default"), str):
        raise CannotTakeError(
            f"{path}.variables.{name}", "A variable of a server must have a “default”, as text."
        )
    listed = variable.get("enum")
    others = [str(value) for value in listed] if isinstance(listed, list) else []
    return list(dict.fromkeys([variable["default"], *others]))
