"""Which hosts a package asks for, and which its tools were denied lately."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from config.lib.host_patterns import HostPattern, host_matches, parse_host_pattern
from config.lib.types import JsonValue
from registry.errors import NetworkDenied
from registry.manifest import FIELD
from registry.models import Invocation, Package
from registry.models.package import Ecosystem

MOST_ASKED = 20
LATELY = timedelta(days=30)
CALLS_LOOKED_AT = 200
MOST_DENIED = 10


@dataclass(slots=True)
class Denied:
    """A host that tools of a package were denied: how often, and when last."""

    host: str
    calls: int
    last: datetime


def hosts_asked(package: Package) -> list[str]:
    """Return the hosts that the manifest asks for (`tpmjs.hosts`) and that are not allowed.

    An OpenAPI document asks for its servers. Nothing is allowed by asking. What is no pattern is
    left out.
    """
    manifest = package.manifest if isinstance(package.manifest, dict) else {}
    declared = manifest if package.ecosystem == Ecosystem.OPENAPI else manifest.get(FIELD)
    asked = declared.get("hosts") if isinstance(declared, dict) else None
    found = [_pattern(item) for item in (asked if isinstance(asked, list) else [])[:MOST_ASKED]]
    names = dict.fromkeys(str(pattern) for pattern in found if pattern)
    return [name for name in names if name not in package.allowed_hosts]


def hosts_denied(package: Package, user: User) -> list[Denied]:
    """Return the hosts that calls were denied lately and still would be, the newest first.

    A reviewer sees them of everybody's calls, anybody else of their own: a host can be what the
    caller gave the tool.
    """
    calls = Invocation.objects.filter(
        tool__package=package,
        error_code=NetworkDenied.code,
        created_at__gt=timezone.now() - LATELY,
    )
    if not user.has_perm("registry.change_package"):
        calls = calls.filter(user=user)
    found: dict[str, Denied] = {}
    newest = calls.order_by("-created_at", "pk").values_list("error", "created_at")
    for error, at in newest[:CALLS_LOOKED_AT]:
        for host in _hosts_of(error):
            if not _allowed(package, host):
                found.setdefault(host, Denied(host, 0, at)).calls += 1
    return list(found.values())[:MOST_DENIED]


def _hosts_of(error: JsonValue) -> list[str]:
    extra = error.get("extra") if isinstance(error, dict) else None
    hosts = extra.get("hosts") if isinstance(extra, dict) else None
    return [host for host in hosts if _pattern(host)] if isinstance(hosts, list) else []


def _allowed(package: Package, host: str) -> bool:
    wanted = parse_host_pattern(host)
    port = wanted.port or 443
    return any(host_matches(pattern, wanted.host, port) for pattern in package.allowed_hosts)


def _pattern(text: JsonValue) -> HostPattern | None:
    try:
        return parse_host_pattern(text) if isinstance(text, str) else None
    except ValueError:
        return None
