"""Ask the npm registry which known weaknesses the packages of a lock have, as `npm audit` does.

Each registry is told of the packages that come from it, and of no others.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from registry.sandbox.service.limits import MB
from registry.sandbox.service.npm_asking import NpmRegistry

PATH = "-/npm/v1/security/advisories/bulk"
SECONDS = 10.0
MAX_BYTES = 2 * MB
MOST = 100
SEVERITIES = ("critical", "high", "moderate", "low", "info")

Locked = Mapping[str, list[str]]
"""Package → its versions."""


def locked_packages(lock: Path) -> Locked:
    """Return what Deno's lock file holds."""
    found = defaultdict[str, list[str]](list)
    for key in json.loads(lock.read_text(encoding="utf-8")).get("npm", {}):
        name, _, version = key[1:].partition("@")
        version = version.split("_")[0]  # "0.1.0_zod@4.6.7" was resolved for that peer
        if version not in found[key[0] + name]:
            found[key[0] + name].append(version)
    return found


async def advisories(registry: NpmRegistry, locked: Locked) -> dict[str, Any]:
    """Return `{offered, advisories: [{package, versions, severity, title, range, id, url}]}`.

    `offered` is false where a registry told nothing in time; what another told is there then.
    """
    asked = defaultdict[str, dict[str, list[str]]](dict)
    for name, versions in locked.items():
        asked[await registry.serving(name)][name] = versions
    told = await asyncio.gather(*(_asked(registry, *item) for item in asked.items()))
    found = [item for answer in told if answer is not None for item in _found(answer, locked)]
    found.sort(key=lambda item: (SEVERITIES.index(item["severity"]), item["package"], item["id"]))
    return {"offered": None not in told, "advisories": found[:MOST]}


async def _asked(
    registry: NpmRegistry, base: str, locked: Mapping[str, list[str]]
) -> dict[str, Any] | None:
    try:
        async with asyncio.timeout(SECONDS):
            answer = await registry.sent(base, PATH, locked, most=MAX_BYTES)
    except TimeoutError:
        return None
    return answer if isinstance(answer, dict) else None


def _found(answer: Mapping[str, Any], locked: Locked) -> list[dict[str, Any]]:
    listed = ((name, items) for name, items in answer.items() if isinstance(items, list))
    return [
        _advisory(name, locked[name], item)
        for name, items in listed
        if name in locked
        for item in items[:MOST]
        if isinstance(item, dict)
    ]


def _advisory(name: str, versions: list[str], said: Mapping[str, Any]) -> dict[str, Any]:
    severity = said.get("severity")
    return {
        "package": name,
        "versions": versions[:10],
        "severity": severity if severity in SEVERITIES else "moderate",
        "title": _text(said.get("title"), 200),
        "range": _text(said.get("vulnerable_versions"), 100),
        "id": _text(said.get("id"), 40),
        "url": _text(said.get("url"), 200),
    }


def _text(value: Any, most: int) -> str:
    return " ".join(str(value).split())[:most] if isinstance(value, str | int) else ""
