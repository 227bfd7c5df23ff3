"""Find what a proposal changes that a description does not say: code, keys, hosts, promises."""

import re
from collections.abc import Iterator, Mapping

from config.lib.secret_names import names_a_secret
from config.lib.types import JsonObject, JsonValue
from registry.review.cues import BLOCK, INFO, WARN
from registry.review.hosts import hosts_of
from registry.review.manifests import manifest_findings
from registry.review.texts import finding

State = Mapping[str, JsonValue]
# Variables hold little else than secrets under these names; elsewhere they may be anything.
_SECRET_VARIABLE = re.compile(r"(^|_)(TOKEN|KEY|PAT|AUTH|DSN|COOKIE|SESSION)$", re.IGNORECASE)
MOST_HOSTS_TOLD = 5
HASHED = frozenset({"npm", "pypi"})
"""Ecosystems whose registries vouch for the content of a version."""


def change_findings(before: State, after: State) -> Iterator[JsonObject]:
    """Yield a finding for each change from `before` to `after` that a reviewer must not miss.

    Of something new, with nothing before it, the same facts are told without blocking.
    """
    old, new = before.get("package") or {}, after.get("package") or {}
    first = not old and not before.get("tools")
    if new.get("deprecated"):
        told = f"The registry calls version {new.get('version')} deprecated: {new['deprecated']}"
        yield finding("deprecated_version", "package.version", WARN, told[:600])
    if new:
        yield from _content(old, new, _ecosystem(after))
        yield from manifest_findings(old.get("manifest") or {}, new.get("manifest") or {})
    yield from _variables(before, after, first=first)
    yield from _hosts(before, after, first=first)
    yield from _network_kept(old, new)
    known = before.get("tools") or {}
    for export, snapshot in (after.get("tools") or {}).items():
        if export in known:
            yield from _tool(known[export], snapshot, f"tools.{export}")
    for export in known:
        if export not in (after.get("tools") or {}):
            told = "It is not there any more; whoever uses it loses it."
            yield finding("tool_removed", f"tools.{export}", WARN, told)


def _ecosystem(state: State) -> str:
    package = state.get("package") or {}
    if package.get("ecosystem"):
        return str(package["ecosystem"])
    snapshots = (state.get("tools") or {}).values()
    return next((str(item["package"]["ecosystem"]) for item in snapshots if item["package"]), "")


def _content(old: State, new: State, ecosystem: str) -> Iterator[JsonObject]:
    if not old.get("integrity") or old.get("version") != new.get("version"):
        return
    if ecosystem in HASHED and old["integrity"] != new.get("integrity"):
        told = f"The registry now sends other content as the very version {new.get('version')}."
        yield finding("integrity_changed", "package.integrity", BLOCK, told)
    elif old.get("artifact") != new.get("artifact"):
        told = "What it depends on was resolved anew: the version is the same, its tree is not."
        yield finding("tree_changed", "package.artifact", INFO, told)


def _declared(state: State) -> dict[str, JsonObject]:
    """Return the variables that a package, or the tools alone, read."""
    package = state.get("package") or {}
    items = list(package.get("env") or [])
    for snapshot in (state.get("tools") or {}).values():
        items += (snapshot.get("package") or {}).get("env") or []
        definition = snapshot.get("definition") or {}
        for auth in (definition.get("auth") or {}, *(definition.get("moreAuth") or ())):
            items += [{"name": auth[key]} for key in ("env", "usernameEnv") if auth.get(key)]
    return {item["name"]: item for item in items if item.get("name")}


def _variables(before: State, after: State, *, first: bool) -> Iterator[JsonObject]:
    known = _declared(before)
    for name in _declared(after):
        if name in known:
            continue
        secret = names_a_secret(name) or _SECRET_VARIABLE.search(name) is not None
        what = f"It {'reads' if first else 'would read'} {name}"
        told = f"{what}, which looks like a secret." if secret else f"{what}."
        severity = INFO if first else BLOCK if secret else WARN
        yield finding("new_secret" if secret else "new_variable", f"env.{name}", severity, told)


def _hosts(before: State, after: State, *, first: bool) -> Iterator[JsonObject]:
    known = hosts_of(before)
    for host, path in hosts_of(after).items():
        if host not in known:
            verb = "reaches" if first else "would reach"
            yield finding("new_host", path, INFO if first else BLOCK, f"It {verb} {host}.")


def _network_kept(old: State, new: State) -> Iterator[JsonObject]:
    """Tell that other code would reach what the approved code was allowed to."""
    known = old.get("allowed_hosts") or []
    hosts = [host for host in new.get("allowed_hosts") or [] if host in known]
    if hosts and old.get("artifact") != new.get("artifact"):
        left = len(hosts) - MOST_HOSTS_TOLD
        named = ", ".join(hosts[:MOST_HOSTS_TOLD]) + (f" and {left} more" if left > 0 else "")
        told = f"Its new code would have network to {named}, as it has now."
        yield finding("network_kept", "package.allowed_hosts", INFO, told)


def _tool(old: State, new: State, path: str) -> Iterator[JsonObject]:
    yield from _promises(old, new, path)
    if gone := sorted(
        set(old.get("required_scopes") or ()) - set(new.get("required_scopes") or ())
    ):
        told = f"It would need no permission any more for: {', '.join(gone)}."
        yield finding("scopes_dropped", f"{path}.required_scopes", BLOCK, told)
    if old.get("output_schema") and not new.get("output_schema"):
        told = "It would not say any more what it returns."
        yield finding("output_schema_gone", f"{path}.output_schema", WARN, told)
    before, after = _inputs(old), _inputs(new)
    for name in after:
        if name not in before and names_a_secret(name):
            told = f"It would ask a model for {name}, which looks like a secret."
            yield finding("secret_input", f"{path}.input_schema.{name}", WARN, told)
    method = (new.get("definition") or {}).get("method")
    if (old.get("definition") or {}).get("method") == "GET" and method not in ("GET", None):
        told = f"Its request would change from GET to {method}."
        yield finding("method_changed", f"{path}.definition.method", BLOCK, told)


def _inputs(snapshot: State) -> Mapping[str, JsonValue]:
    properties = (snapshot.get("input_schema") or {}).get("properties")
    return properties if isinstance(properties, dict) else {}


# A hint, the value that reassures, how grave its loss is, and what is then no longer said.
_PROMISES = (
    ("readOnlyHint", True, BLOCK, "that it only reads"),
    ("destructiveHint", False, BLOCK, "that it destroys nothing"),
    ("idempotentHint", True, WARN, "that calling it twice does no more than calling it once"),
    ("openWorldHint", False, WARN, "that it keeps to a closed world"),
)


def _promises(old: State, new: State, path: str) -> Iterator[JsonObject]:
    before, after = _hints(old), _hints(new)
    for hint, reassuring, severity, told in _PROMISES:
        if before.get(hint) is reassuring and after.get(hint) is not reassuring:
            message = f"It would not promise any more {told}."
            yield finding("promise_dropped", f"{path}.annotations.{hint}", severity, message)


def _hints(snapshot: State) -> Mapping[str, JsonValue]:
    hints = (snapshot.get("ai_agent") or {}).get("annotations")
    return hints if isinstance(hints, dict) else {}
