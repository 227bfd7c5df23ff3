"""Every list and filter that has to stay quick, and what it asks the database."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import md5
from itertools import islice
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from agents.oauth.admin import UnseenAdmin


def made(what: str, number: int | str) -> UUID:
    """Return the id of a row that `seed_scale` made."""
    return UUID(md5(f"{what}{number}".encode(), usedforsecurity=False).hexdigest())


TOOL, SEQUENCE, PACKAGE = made("tool", 23), made("tool", 100), made("package", 2)
POPULAR, LOVED = made("tool", 2), made("tool", 38)
"""The tool that most callers call, and the one that one agent calls most."""

AGENT = "scale-2"
"""A tenth of all conversations are with it."""

TALK, LOOK = made("conversation", 1), made("look", 1)
OWN = POPULAR
"""A sequence of the owner's, with half of their runs, and as many triggers as there may be."""

DRAFT, TIMETABLE, WEBHOOK = made("draft", 1), made("timetable", 1), made("webhook", 1)
RUN, SAME, INNER, TRIAL, ASKS, DOUBTS = (made("run", i) for i in (2, 18, 14, 6, 10, 30))
"""Runs of the owner's: with a long loop, of the same sequence, inside of another, of a draft, one
that asks and one that needs attention."""

TOLD = made("subscription", 1)
"""An event subscription of the owner's, with a fortieth of all deliveries."""

LOOP = made("step", "2-2")
EXPERIMENT = made("experiment", 2)
PROPOSAL, DECIDED = made("proposal", 8), made("decided", 1)

OWNER = "scale-3"
"""Owns the agent `AGENT` and has made a tenth of the other calls."""

PERIODS = ("24h", "7d", "30d", "90d")

USAGE = (
    *(f"/usage/?period={period}" for period in PERIODS),
    *(f"/tools/{POPULAR}/usage/?period={period}" for period in PERIODS),
    *(f"/tools/{TOOL}/usage/?period={period}" for period in PERIODS),
    f"/tools/{POPULAR}/usage/?period=90d&format=csv",
    "/usage/?period=90d&format=csv",
)

CALLS = (
    "",
    *("tool=scale_tool_23", "tool=scale_tool_2", "tool=scale_tool_23&version=1"),
    *("agent=scale-2", "user=me", "user=scale-3", "caller=rest", "caller=health"),
    *("outcome=failed", "outcome=succeeded", "error=tool_timeout", "error=never_seen"),
    *("decision=limited", "decision=denied", "decision=allowed", "since=2020-01-01"),
    *("until=2030-01-01", "until=2020-01-01", "tool=scale_tool_2&outcome=failed"),
    *("tool=scale_tool_2&caller=chat", "agent=scale-2&outcome=failed&decision=limited"),
    *("caller=rest&outcome=failed", "agent=scale-2&caller=rest", "user=scale-3&decision=denied"),
    *("user=scale-3&error=never_seen", "tool=scale_tool_77777&agent=scale-2"),
    *("caller=chat&decision=denied", "caller=rest&error=upstream_unavailable"),
)
"""Queries of the list of calls: each filter alone, and pairs that may have few rows or none."""

RUNS = (
    *("/runs/", "/runs/waiting", "/runs/?status=failed", "/runs/?status=waiting"),
    *("/runs/?started=rest", "/runs/?started=test", "/runs/?since=2020-01-01", "/runs/?q=1f"),
    *("/runs/?until=2020-01-01", "/runs/?tool=scale_tool_2", f"/runs/?tool={POPULAR}"),
    *("/runs/?status=attention", "/runs/?status=attention&started=webhook"),
    *("/runs/?status=succeeded&started=code", "/runs/?status=failed&started=schedule"),
    *("/runs/?q=ffffffff&status=succeeded", "/runs/?status=queued&tool=scale_tool_2", "/runs/?q=1"),
    *("/runs/?started=schedule&tool=scale_tool_2", "/runs/?status=failed&since=2020-01-01"),
    *(
        "/api/v1/runs/?status=failed&started=rest",
        "/api/v1/runs/?q=1f",
        "/api/v1/runs/?started=test",
    ),
)
"""Lists of runs: each filter alone, and pairs that may have few rows or none."""

SEQUENCES = (
    *("/sequences/", "/sequences/?page=9", "/sequences/new", "/sequences/palette"),
    *("/sequences/palette?q=text", "/sequences/templates/", "/sequences/import"),
    *(f"/sequences/{SEQUENCE}/triggers", f"/sequences/{SEQUENCE}/run", "/sequences/describe"),
    *(f"/sequences/{OWN}/{page}" for page in ("triggers", "edit", "versions/", "delete")),
    *(f"/sequences/{OWN}/{page}" for page in ("checks", "export.json", f"run?like={RUN}")),
    *(f"/sequences/{OWN}/triggers/schedules/new", f"/sequences/{OWN}/triggers/webhooks/new"),
    *(f"/sequences/drafts/{DRAFT}/{page}" for page in ("edit", "test", "checks")),
    f"/sequences/drafts/{DRAFT}/picker?row=steps-0-in-0&step=1",
    f"/sequences/schedules/{TIMETABLE}/edit",
    *(f"/sequences/webhooks/{WEBHOOK}/{page}" for page in ("", "edit")),
    *(f"/runs/{run}/" for run in (RUN, INNER, TRIAL, ASKS, DOUBTS)),
    *(f"/runs/{RUN}/steps/{LOOP}/", f"/runs/{RUN}/steps/{LOOP}/?page=9"),
    *(f"/runs/{RUN}/compare/{SAME}", f"/runs/{RUN}/files/{made('file', '2-1')}"),
    *(f"/runs/{RUN}/output.json", f"/runs/{RUN}/steps/{LOOP}/output.json"),
    *(f"/api/v1/runs/{run}/" for run in (RUN, ASKS)),
    *(f"/api/v1/sequences/{OWN}/{page}/" for page in ("schedules", "webhooks", "export")),
    *(f"/api/v1/schedules/{TIMETABLE}/", f"/api/v1/webhooks/{WEBHOOK}/"),
)
"""Pages of sequences, their drafts and what starts them, and of single runs."""

EVENTS = (
    "",
    *(f"object={TOOL}", "actor=scale-3", "model=registry.tool", "model=registry.retentionpolicy"),
    *("operation=delete", "operation=insert", "source=rest", "source=command", "source=worker"),
    *("request=abcdef", "q=scale_tool", "q=never-seen", "since=2020-01-01", "until=2020-01-01"),
    *("model=agents.agenttool&operation=insert", "actor=scale-3&source=admin"),
    *("actor=scale-3&model=registry.proposal", "operation=delete&source=command"),
)

PAGES = (
    "/",
    *("/tools/", "/tools/?page=900", "/tools/?kind=api", "/tools/?category=web&health=broken"),
    *("/tools/?health=needs_key", "/tools/?health=unknown", "/tools/?health=import_broken"),
    *("/tools/?q=extract+logs&kind=api", "/tools/?q=logs&category=web&health=broken"),
    *("/tools/?owner=me", "/tools/?q=extract+invoices", "/tools/?owner=scale-5"),
    *("/tools/?visibility=private", "/tools/?visibility=team", "/tools/?sort=quality"),
    *("/tools/?sort=quality&category=web", "/tools/?sort=quality&kind=sequence&health=healthy"),
    *(f"/tools/{TOOL}/", f"/tools/{SEQUENCE}/", f"/tools/{POPULAR}/", f"/agents/using/{TOOL}/"),
    *(f"/tools/{TOOL}/versions/", f"/tools/{TOOL}/versions/1/diff/40/", f"/tools/{TOOL}/impact/"),
    *(f"/tools/{POPULAR}/impact/", "/packages/", "/packages/?page=20", f"/packages/{PACKAGE}/"),
    *(f"/packages/{PACKAGE}/impact/",),
    *("/agents/", f"/agents/{AGENT}/", f"/agents/{AGENT}/tools/", f"/agents/{AGENT}/edit/"),
    *(f"/agents/{AGENT}/approvals/", f"/agents/{AGENT}/export/", "/agents/import/"),
    f"/agents/{AGENT}/approvals/rules/preview/?pattern=@writes",
    *(f"/agents/{AGENT}/tools/?q=invoices", f"/agents/{AGENT}/tools/{LOVED}/"),
    *(f"/agents/{AGENT}/usage/?period={period}" for period in PERIODS),
    f"/agents/{AGENT}/usage/?period=90d&format=csv",
    *("/search/", f"/search/?message=send+invoices&agent={AGENT}&w-name=2", "/search/weights/"),
    *(f"/agents/{AGENT}/search/", f"/agents/{AGENT}/search/new/", f"/agents/{AGENT}/bench/"),
    *(f"/agents/{AGENT}/experiments/", f"/agents/{AGENT}/experiments/new/"),
    *(f"/agents/{AGENT}/experiments/{EXPERIMENT}/", "/agents/credentials/", "/agents/tokens/"),
    *("/event-subscriptions/", "/event-subscriptions/new/", f"/event-subscriptions/{TOLD}/"),
    *(f"/event-subscriptions/{TOLD}/?page=9", f"/event-subscriptions/{TOLD}/edit/"),
    *(f"/api/v1/event-subscriptions/{page}" for page in ("", f"{TOLD}/", f"{TOLD}/deliveries/")),
    *("/agents/connected/", f"/agents/{AGENT}/programs/"),
    *(
        *RUNS,
        *SEQUENCES,
        f"/chat/{TALK}/",
        "/chat/",
    ),
    f"/chat/turns/{made('turn', 1)}/steps/",
    *USAGE,
    *(f"/invocations/?{query}" for query in CALLS if "user=" not in query),
    "/invocations/export/?format=csv",
    *("/api/v1/tools/", "/api/v1/tools/?kind=api&category=web", "/api/v1/tools/search/?q=invoices"),
    *("/search/palette/", "/search/palette/?q=inv", "/search/palette/?q=s"),
    *(f"/tools/{TOOL}/similar/", f"/api/v1/tools/{TOOL}/similar/"),
    *("/api/v1/tools/search/?mode=prefix&q=scale", "/api/v1/tools/search/?mode=regex&q=_77$"),
    "/api/v1/tools/search/?mode=exact&q=scale_tool_77",
    *("/api/v1/tools/search/?q=invoices&explain=1", "/api/v1/search/weights/"),
    "/api/v1/search/weights/history/",
    *("/api/v1/tools/search/?q=extract+logs&explain=1", "/api/v1/tools/search/?q=hello"),
    *("/api/v1/tools/?sort=quality", "/api/v1/tools/?q=extract", "/api/v1/tools/?health=broken"),
    *(f"/api/v1/tools/{TOOL}/versions/", f"/api/v1/tools/{POPULAR}/usage/"),
    *(f"/api/v1/tools/{TOOL}/impact/", "/api/v1/packages/", "/api/v1/agents/"),
    *(f"/api/v1/agents/{AGENT}/usage/", f"/api/v1/agents/{AGENT}/tools/"),
    *(f"/api/v1/agents/{AGENT}/bench/cases/", f"/api/v1/agents/{AGENT}/bench/runs/"),
    *(f"/api/v1/agents/{AGENT}/approval-rules/", f"/api/v1/agents/{AGENT}/export/"),
    *("/api/v1/conversations/", "/api/v1/runs/", f"/api/v1/agents/{AGENT}/experiments/"),
    f"/api/v1/agents/{AGENT}/experiments/{EXPERIMENT}/",
    *(f"/api/v1/agents/{AGENT}/search-cases/", f"/api/v1/agents/{AGENT}/search-evaluations/"),
    *("/api/v1/invocations/", "/api/v1/invocations/?outcome=failed"),
    *("/api/v1/proposals/", "/api/v1/proposals/?state=approved"),
    *("/discovery/", "/discovery/?cursor=c2NhbGVfdG9vbF81", "/api/v1/discovery/?limit=50"),
    f"/api/v1/discovery/?agent={AGENT}",
    *("/connect/", f"/agents/{AGENT}/connect/", f"/api/v1/agents/{AGENT}/connect/"),
)

GOVERNED = (
    *("/", "/tools/", "/tools/?sort=quality", "/packages/", "/packages/sync/", "/metrics"),
    f"/packages/sync/runs/{LOOK}/",
    *("/tools/?health=broken&owner=scale-3", f"/tools/{TOOL}/", f"/tools/{POPULAR}/"),
    *USAGE,
    *("/usage/?period=24h&of=mine", "/usage/?period=90d&of=mine"),
    *(f"/invocations/?{query}" for query in CALLS),
    *("/invocations/export/?format=csv", "/invocations/export/?format=json&outcome=failed"),
    *(f"/audit/?{query}" for query in EVENTS),
    "/audit/export/?format=csv",
    *("/api/v1/invocations/?caller=rest", "/api/v1/invocations/?error=tool_timeout"),
    *("/api/v1/audit/?operation=delete", f"/api/v1/audit/?object={TOOL}"),
    *("/api/v1/proposals/", "/api/v1/proposals/?state=rejected", f"/api/v1/proposals/{PROPOSAL}/"),
    "/admin/",
    *(f"/admin/registry/package/{PACKAGE}/change/", f"/admin/registry/tool/{TOOL}/change/"),
    *(f"/admin/registry/tool/{POPULAR}/change/", f"/admin/agents/agent/{made('agent', 2)}/change/"),
    *(f"/admin/registry/proposal/{PROPOSAL}/change/",),
    f"/admin/registry/proposal/{DECIDED}/change/",
)


def changelists() -> list[str]:
    """Return the address of each list of the admin that anybody may see."""
    return sorted(
        reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        for model, shown in admin.site._registry.items()
        if not isinstance(shown, UnseenAdmin)
    )


def narrowed(user: User, path: str) -> list[str]:
    """Return the addresses that a list of the admin offers: its filters, orders and a search."""
    client = Client()
    client.force_login(user)
    links = re.findall(r'href="(\?[^"]+)"', client.get(path).content.decode())
    searches = ["?q=scale_tool_77", "?q=invoices", "?q=never-seen"]
    return [path + html.unescape(link) for link in dict.fromkeys([*links, *searches])]


FINE = {200, 302}
MOST_PARTS = 2_500
"""Pieces of a download that are waited for; a batch has a thousand rows."""

READS = re.compile(r"\s*(SELECT|WITH|\()", re.IGNORECASE)
WORKS = re.compile(r"\s*(SELECT|WITH|\(|INSERT|UPDATE|DELETE)", re.IGNORECASE)
TOLD_CHANGE = re.compile(r"^SELECT set_config\('outfitter\.change', '(?:[^']|'')*', true\);\s*")
"""What stands before a statement that might write: who asked for it."""

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
    """Open a page and return what it asked the database, each query looked at by EXPLAIN.

    Of a download only the first batches are taken.
    """
    client = Client()
    client.force_login(user)
    for _ in range(MOST_TRIES):  # what a process asks once; its first searches read all tools
        if client.get(path).status_code in FINE:
            break
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(path)
        if answer.streaming:
            for _ in islice(answer, MOST_PARTS):
                pass
    assert answer.status_code in FINE, f"{path} answered {answer.status_code}"
    return [explained(query["sql"]) for query in captured if READS.match(query["sql"])]


def asked_by_job(job: Callable[[], object]) -> list[Asked]:
    """Do a job and take it back; then do each of its statements again with EXPLAIN, and take
    that back as well."""
    with CaptureQueriesContext(connection) as captured, transaction.atomic():
        job()
        transaction.set_rollback(True)
    asked = []
    with transaction.atomic():
        for query in captured:
            if WORKS.match(query["sql"]):
                asked.append(explained(query["sql"]))
        transaction.set_rollback(True)
    return asked


def explained(sql: str) -> Asked:
    """Let the database tell how it carries a query out."""
    sql = TOLD_CHANGE.sub("", sql)
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}")
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
