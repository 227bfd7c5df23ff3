"""Every list and filter that has to stay quick, and what it asks the database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import md5
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext


def made(what: str, number: int) -> UUID:
    """Return the id of a row that `seed_scale` made."""
    return UUID(md5(f"{what}{number}".encode(), usedforsecurity=False).hexdigest())


TOOL, SEQUENCE, PACKAGE = made("tool", 23), made("tool", 100), made("package", 2)
AGENT = "scale-2"
TALK = made("conversation", 1)

OWNER = "scale-3"
"""Owns the agent `AGENT`."""

PAGES = (
    "/",
    *("/tools/", "/tools/?page=900", "/tools/?kind=api", "/tools/?category=web&health=broken"),
    *("/tools/?health=needs_key", "/tools/?owner=me", "/tools/?q=extract+invoices"),
    *(f"/tools/{TOOL}/", f"/tools/{SEQUENCE}/", f"/agents/using/{TOOL}/"),
    *("/packages/", "/packages/?page=50", f"/packages/{PACKAGE}/"),
    *("/agents/", f"/agents/{AGENT}/", f"/agents/{AGENT}/tools/"),
    f"/agents/{AGENT}/experiments/",
    *("/sequences/", "/runs/", f"/chat/{TALK}/", "/chat/"),
    *("/api/v1/tools/", "/api/v1/tools/?kind=api&category=web", "/api/v1/tools/search/?q=invoices"),
    *(f"/api/v1/tools/{TOOL}/versions/", "/api/v1/packages/", "/api/v1/agents/"),
    *(f"/api/v1/agents/{AGENT}/usage/", "/api/v1/conversations/", "/api/v1/runs/"),
)

GOVERNED = (
    *("/admin/", "/admin/registry/package/", "/admin/registry/package/?review_status=candidate"),
    *("/admin/registry/package/?q=package-77", f"/admin/registry/package/{PACKAGE}/change/"),
    *(
        "/admin/registry/tool/",
        "/admin/registry/tool/?kind=api",
        "/admin/registry/tool/?q=invoices",
    ),
    *("/admin/registry/tool/?health=execution_broken", f"/admin/registry/tool/{TOOL}/change/"),
    *("/admin/registry/toolversion/", "/admin/registry/invocation/"),
    *("/admin/registry/invocation/?outcome=failed", "/admin/registry/invocation/?caller=rest"),
    *("/admin/registry/importjob/", "/packages/", "/tools/"),
)


FINE = {200, 302}
MOST_TRIES = 60


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One query of a page: `rows` are those that the database had to read for it."""

    sql: str
    milliseconds: float
    rows: int
    scans: tuple[str, ...]
    """Tables that were read from end to end."""


def people() -> dict[str, User]:
    """Return who looks at the pages: an owner, and somebody who may see everything."""
    governor, _ = User.objects.get_or_create(
        username="scale-governor", defaults={"is_staff": True, "is_superuser": True}
    )
    return {"owner": User.objects.get(username=OWNER), "governor": governor}


def visits() -> Iterator[tuple[str, str]]:
    """Yield `(who, path)` for each page."""
    yield from (("owner", path) for path in PAGES)
    yield from (("governor", path) for path in GOVERNED)


def asked_by(user: User, path: str) -> list[Asked]:
    """Open a page and return what it asked the database, each query looked at by EXPLAIN."""
    client = Client()
    client.force_login(user)
    for _ in range(MOST_TRIES):  # what a process asks once; its first searches read all tools
        if client.get(path).status_code in FINE:
            break
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(path)
        if answer.streaming:
            b"".join(answer)
    assert answer.status_code in FINE, f"{path} answered {answer.status_code}"
    return [explained(query["sql"]) for query in captured if query["sql"].startswith("SELECT")]


def explained(sql: str) -> Asked:
    """Let the database tell how it carries a query out."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
        told = cursor.fetchone()[0]
    (plan,) = json.loads(told) if isinstance(told, str) else told
    nodes = list(_nodes(plan["Plan"]))
    return Asked(
        sql=sql,
        milliseconds=plan["Execution Time"],
        rows=sum(_rows(node) for node in nodes if "Relation Name" in node),
        scans=tuple(
            node["Relation Name"]
            for node in nodes
            if node["Node Type"] == "Seq Scan" and _rows(node) > 0
        ),
    )


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def _rows(node: dict[str, Any]) -> int:
    removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return int((node["Actual Rows"] + removed) * node["Actual Loops"])
