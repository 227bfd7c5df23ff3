"""Tell a failed call by the host it could not reach, where that is known.

What is known comes from the proxy, which turned the tool away, and from the guest, which asked its
runtime (`denied_hosts`: a list of `host:port`). The words of an error are never looked at.
"""

import json
from collections.abc import Iterable
from typing import Any

from config.lib.host_patterns import parse_host_pattern
from registry.sandbox.service.egress import MAX_REMEMBERED, Egress, Seen
from registry.sandbox.service.errors import ServiceError

# A denied host can be the reason of these; a limit that was reached says enough by itself.
EXPLAINED = frozenset({"tool_failed", "import_broken"})
SHOWN = 3
SHOWN_CHARACTERS = 400


def denied_hosts(told: Any) -> tuple[str, ...]:
    """Keep of a guest's list what has the shape of `host:port`; a stranger wrote it."""
    found: dict[str, None] = {}
    for item in told[:MAX_REMEMBERED] if isinstance(told, list) else []:
        try:
            pattern = parse_host_pattern(item) if isinstance(item, str) else None
        except ValueError:
            continue
        if pattern is not None and pattern.port and not pattern.below:
            found[str(pattern)] = None
    return tuple(found)


def failed_softly(output: Any) -> bool:
    """Tell whether an answer says that it failed.

    Such are `{error: …}`, `{success: false}` and `{status: "error"}`.
    """
    return isinstance(output, dict) and (
        output.get("success") is False
        or output.get("status") == "error"
        or bool(output.get("error", False))
    )


def shortened(output: Any) -> str:
    """Return an answer as text, short enough for a message."""
    text = json.dumps(output, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


def explained(error: ServiceError, told: Iterable[str], egress: Egress | None) -> ServiceError:
    """Return the error, or the one that names the hosts which `told` or the proxy know of."""
    if error.code not in EXPLAINED:
        return error
    seen = egress.seen if egress else Seen()
    hosts = list(dict.fromkeys([*told, *seen.denied]))
    if hosts:
        return _denied(error, hosts)
    if seen.forbidden:
        return _forbidden(error, seen.forbidden)
    if seen.unreachable:
        message = f"The tool could not reach {_facts(seen.unreachable)}"
        hosts = list(seen.unreachable)
        extra = {**error.extra, "hosts": hosts, "said": error.message}
        return ServiceError("upstream_unreachable", message, **extra)
    if seen.exhausted:
        error.hint = error.hint or "The call moved more bytes than one may; ask for less at a time."
    return error


def _denied(error: ServiceError, hosts: list[str]) -> ServiceError:
    names = _listed(hosts)
    return ServiceError(
        "network_denied",
        f"The tool tried to reach {names} over the network, which it may not.",
        f"A reviewer can allow {names} under “Network” on the page of the package; "
        "it holds from the next call on.",
        **error.extra,
        hosts=hosts,
        said=error.message,
    )


def _forbidden(error: ServiceError, forbidden: dict[str, str]) -> ServiceError:
    return ServiceError(
        "network_denied",
        f"The tool may not reach {_facts(forbidden)}",
        "An operator can allow the address with SANDBOX_NET_ALLOW.",
        **error.extra,
        hosts=list(forbidden),
        said=error.message,
    )


def _facts(found: dict[str, str]) -> str:
    """Return `host:port, which …; host:port, which …` with a full stop."""
    return "; ".join(f"{host}, which {why}" for host, why in list(found.items())[:SHOWN]) + "."


def _listed(hosts: list[str]) -> str:
    more = len(hosts) - SHOWN
    return ", ".join(hosts[:SHOWN]) + (f" and {more} more" if more > 0 else "")
