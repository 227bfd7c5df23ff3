"""What is asked for when an OpenAPI document is imported: which one, which of it, from where."""

import re
from typing import Any

from django.contrib.auth.models import User

from config.lib.errors import InvalidInput
from config.lib.types import JsonObject, JsonValue
from registry.importing.access import require_may_change
from registry.importing.errors import InvalidPackageName, InvalidPackageVersion
from registry.importing.openapi.document import MOST_OPERATIONS
from registry.importing.openapi.servers import resolved, server_problem
from registry.importing.openapi_documents import checked_url, document_by_digest, document_sent
from registry.models import Package

ALL = "all"
KNOWN = ("url", "document", "digest", "selection", "server")
SOURCES = ("url", "document", "digest")
LONGEST_ENTRY = 300

_NAME = re.compile(r"[A-Za-z0-9][\w .-]{0,99}", re.ASCII)


def checked_openapi(
    name: str,
    version: str,
    settings: JsonObject | None,
    package: Package | None,
    user: User | None,
) -> JsonObject:
    """Check a request and return the settings of its job: `{url?, digest?, selection, server}`.

    Without settings those of the package that is here: its address is asked anew, its file is
    read as it is kept. A `document` that comes along is kept and named by its digest. Raises
    InvalidInput, InvalidDocument, InvalidPackageName, InvalidPackageVersion and PackageNotYours.
    """
    if not _NAME.fullmatch(name):
        raise InvalidPackageName(
            f"“{name[:80]}” cannot be the name of an API.",
            "Use letters, digits, blanks and . _ -, at most 100 of them.",
        )
    if version:
        raise InvalidPackageVersion(
            "An OpenAPI document states its version itself.", "Leave the version empty."
        )
    if package is not None:
        require_may_change(package, user)
    before = dict(package.settings) if package else {}
    given = dict(settings) if settings is not None else _again(before)
    if unknown := [key for key in given if key not in KNOWN]:
        raise InvalidInput(
            f"settings.{str(unknown[0])[:80]} is not known.", f"Known: {', '.join(KNOWN)}."
        )
    sources = [key for key in SOURCES if given.get(key) is not None]
    if not sources or {"document"} < set(sources):
        raise InvalidInput(
            "The settings must name one OpenAPI document.",
            'Send {"url": "https://…"} or {"document": {…}}, with "selection".',
        )
    asked: JsonObject = {
        "selection": checked_selection(given.get("selection", before.get("selection"))),
        "server": checked_server(given.get("server") or before.get("server") or ""),
    }
    if "document" in sources:
        return {**asked, "digest": document_sent(given["document"], user=user).digest}
    if "url" in sources:
        asked["url"] = checked_url(_text(given["url"], "url"))
    if "digest" in sources:
        asked["digest"] = document_by_digest(_text(given["digest"], "digest")).digest
    return asked


def checked_selection(selection: Any) -> JsonValue:
    """Return the selection, `"all"` or names of operations; raise InvalidInput."""
    if selection == ALL:
        return ALL
    if (
        not isinstance(selection, list)
        or not 0 < len(selection) <= MOST_OPERATIONS
        or not all(isinstance(item, str) and len(item) <= LONGEST_ENTRY for item in selection)
    ):
        raise InvalidInput(
            "settings.selection must say which operations to import.",
            'Send "all", or a list of operationIds, of “GET /path”, or of “tag:name”.',
        )
    return list(dict.fromkeys(selection))


def checked_server(server: JsonValue) -> str:
    """Return the address that requests go to, empty for the document's first server."""
    address = resolved(_text(server, "server").strip(), "")
    if address and (problem := server_problem(address)):
        raise InvalidInput(problem, "Write the server's address, such as https://api.example.com.")
    return address


def _again(before: JsonObject) -> JsonObject:
    """Return the request that a package was made by: an address is asked for what is there now."""
    kept: JsonObject = {key: before[key] for key in ("selection", "server") if key in before}
    source = "url" if before.get("url") else "digest"
    return {**kept, source: before[source]} if before.get(source) else kept


def _text(value: JsonValue, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"settings.{field} must be text.")
    return value
