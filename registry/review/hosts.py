"""Tell which hosts a package or tool says it reaches."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from config.lib.types import JsonValue

State = Mapping[str, JsonValue]
_VARIES = "a host that its arguments decide"


def hosts_of(state: State) -> dict[str, str]:
    """Return `{host: path}`: what settings, manifest and the tools' requests name."""
    found: dict[str, str] = {}
    for path, address in _addresses(state):
        host = _host(address)
        if host:
            found.setdefault(host, path)
    return found


def _addresses(state: State) -> Iterator[tuple[str, str]]:
    package = state.get("package") or {}
    settings, manifest = package.get("settings") or {}, package.get("manifest") or {}
    for key in ("url", "server"):
        yield f"package.settings.{key}", str(settings.get(key) or "")
    for key in ("hosts", "servers"):
        for index, item in enumerate(_list(manifest.get(key))):
            yield f"package.manifest.{key}[{index}]", item
    for index, item in enumerate(_list(package.get("allowed_hosts"))):
        yield f"package.allowed_hosts[{index}]", item
    for export, snapshot in (state.get("tools") or {}).items():
        path = f"tools.{export}.definition.url"
        yield path, str((snapshot.get("definition") or {}).get("url") or "")
        loaded = (snapshot.get("package") or {}).get("settings") or {}
        yield f"tools.{export}.package.settings.url", str(loaded.get("url") or "")


def _list(value: JsonValue) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _host(address: str) -> str:
    """Return `host` or `host:port` of an address or pattern; "" where it names none."""
    if not address or address.startswith("/"):
        return ""
    place = address if "://" in address else f"https://{address}"
    authority = place.split("://", 1)[1].split("/", 1)[0]
    if "{{" in authority:
        return _VARIES
    try:
        parts = urlsplit(place)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return ""
    usual = port is None or (parts.scheme, port) in {("https", 443), ("http", 80)}
    return host if usual else f"{host}:{port}"
