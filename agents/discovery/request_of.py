"""The HTTP request of a tool that somebody registers, and whether it may be sent at all."""

import re
from collections.abc import Iterator

import httpcore
import httpx
from django.conf import settings

from agents.discovery.parameters import Problem
from config.lib.host_patterns import host_matches
from config.lib.types import JsonObject, JsonSchema
from registry.api_definition import METHODS
from registry.errors import HostRefused
from registry.outbound import Guard
from registry.outbound.guard import DEFAULT_PORT

WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def url_of(body: JsonObject) -> str:
    """Return the address that a registration names: its `url`, or host, port and endpoint."""
    if url := body.get("url"):
        return str(url)
    host = str(body["host"])
    if ":" in host and not host.startswith("["):
        host = f"[{host}]"  # an IPv6 address
    return f"http://{host}:{body['port']}/{str(body['endpoint']).lstrip('/')}"


def definition_of(body: JsonObject, schema: JsonSchema) -> JsonObject:
    """Return the request as `registry.api_definition` has it; arguments go by their names.

    They are the JSON body, or the query of a method that has none.
    """
    names = schema.get("properties")
    named = names if isinstance(names, dict) else {}
    templates = {name: "{{ " + _expression(name) + " }}" for name in named}
    definition: JsonObject = {"method": body["method"], "url": url_of(body)}
    if body["method"] in WITH_BODY:
        definition["body"] = {"type": "json", "value": templates}
    elif templates:
        definition["query"] = templates
    if body["forward_token"]:
        definition["auth"] = {"type": "oauth_caller"}
    return definition


def request_problems(body: JsonObject) -> Iterator[Problem]:
    """Yield what keeps the request from being sent from here, as far as it is known now.

    The address is looked up and judged as it is at each call; see `registry.outbound.guard`.
    """
    place = "$.url" if body.get("url") else "$.host"
    if body["method"] not in METHODS:
        yield "$.method", f"must be one of {', '.join(METHODS)}"
    try:
        url = httpx.URL(url_of(body))
        guard = Guard()
        guard.check_url(url)
        host, port = url.raw_host.decode("ascii"), url.port or DEFAULT_PORT[url.scheme]
        guard.addresses_of(host.strip("[]"), port)
    except (httpx.InvalidURL, UnicodeError):
        yield place, "is no address that can be asked; write https://host/path"
    except httpcore.ConnectError as error:
        yield place, f"{error}; start the service first, or name it as this server knows it"
    except HostRefused as refusal:
        yield place, f"{refusal.message} {refusal.hint}"
    else:
        if body["forward_token"] and not _may_have_tokens(url.scheme, host, port):
            yield (
                "$.forward_token",
                f"{host}:{port} may not be sent its callers' tokens. An operator names the "
                "services that may in TRUSTED_TOKEN_HOSTS; those of http with their port.",
            )


def _may_have_tokens(scheme: str, host: str, port: int) -> bool:
    """Say what `registry.executors.api` asks at each call."""
    trusted = [p for p in settings.TRUSTED_TOKEN_HOSTS if host_matches(p, host, port)]
    return any(scheme == "https" or pattern.endswith(f":{port}") for pattern in trusted)


def _expression(name: str) -> str:
    return f"args.{name}" if _PLAIN.fullmatch(name) else f'args."{name}"'
