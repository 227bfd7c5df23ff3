"""Put the command palette together: pages, tools and a person's own things, by their names."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.urls import reverse

from agents.selectors import agents_visible_to
from chat.selectors import conversations_begun_by
from registry.models.tool import ToolKind
from registry.search.lookup import look_up
from registry.search.service import Mode
from registry.search.variety import Hit
from registry.search.words import words_of

MOST_TOOLS = 8
MOST_OTHERS = 4
LOOKED_THROUGH = 500
"""How many of a person's agents, or latest conversations, are looked through for a title."""

LONGEST = 200
"""Characters of what was typed that are read."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One place to go to; `note` says what else there is to know of it."""

    title: str
    href: str
    icon: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Places of one kind, the best first."""

    title: str
    entries: list[Entry]


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page that everybody can open, or those with a permission, or the staff."""

    title: str
    icon: str
    view: str
    also: str = ""
    permission: str = ""
    is_for_staff: bool = False


PAGES = (
    Page(title="Dashboard", icon="home", view="home", also="start"),
    Page(title="Chat", icon="chat", view="chat:conversation_list", also="conversations messages"),
    Page(title="Agents", icon="agent", view="agents:agent_list"),
    Page(title="New agent", icon="plus", view="agents:agent_create", also="create make"),
    Page(title="Tools", icon="tool", view="registry:tool_list", also="catalogue"),
    Page(
        title="New HTTP API tool", icon="plus", view="registry:api_tool_create", also="create make"
    ),
    Page(
        title="Search workbench", icon="search", view="search:workbench", also="weights ranking why"
    ),
    Page(title="Packages", icon="package", view="registry:package_list", also="import npm python"),
    Page(title="Import an MCP server", icon="plus", view="registry:mcp_import", also="packages"),
    Page(
        title="Import an OpenAPI document",
        icon="plus",
        view="registry:openapi_document",
        also="packages",
    ),
    Page(title="Upload a package", icon="plus", view="registry:package_upload", also="import"),
    Page(title="Sequences", icon="sequence", view="sequences:sequence_list"),
    Page(title="New sequence", icon="plus", view="sequences:sequence_create", also="create make"),
    Page(title="Runs", icon="run", view="sequences:run_list"),
    Page(title="Calls", icon="play", view="registry:invocation_list", also="invocations log"),
    Page(title="Usage", icon="chart", view="usage", also="statistics cost"),
    Page(title="Credentials", icon="key", view="agents:credential_list", also="keys variables"),
    Page(title="Connect a client", icon="play", view="connect"),
    Page(title="API tokens", icon="link", view="agents:token_list"),
    Page(title="Admin", icon="shield", view="admin:index", is_for_staff=True),
    Page(
        title="Audit",
        icon="clock",
        view="registry:audit_list",
        also="changes history",
        permission="registry.view_auditevent",
        is_for_staff=True,
    ),
    Page(title="Sandbox", icon="bolt", view="registry:sandbox_status", is_for_staff=True),
)


def palette_of(user: User, text: str) -> list[Group]:
    """Return where a person may want to go who typed this, the tools first.

    Each word has to begin one of a title's words; without any, the pages and what was talked
    about last are told.
    """
    text = text[:LONGEST]
    words = words_of(text)
    groups = (
        Group(title="Tools", entries=list(_tools(user, text)) if words else []),
        Group(title="Pages", entries=list(_pages(user, words))),
        Group(title="Agents", entries=list(_agents(user, words)) if words else []),
        Group(title="Conversations", entries=list(_conversations(user, words))),
    )
    return [group for group in groups if group.entries]


def _tools(user: User, text: str) -> Iterator[Entry]:
    answer = look_up([text], mode=Mode.PREFIX, user=user, limit=MOST_TOOLS, most=MOST_TOOLS)
    for hit in answer.hits:
        yield Entry(
            title=hit.title,
            href=reverse("registry:tool_detail", args=[hit.tool_id]),
            icon="sequence" if hit.kind == ToolKind.SEQUENCE else "tool",
            note=_note(hit),
        )


def _note(hit: Hit) -> str:
    return f"{hit.wire_name} · {hit.reason}" if hit.reason else hit.wire_name


def _pages(user: User, words: list[str]) -> Iterator[Entry]:
    for page in PAGES:
        if page.is_for_staff and not user.is_staff:
            continue
        if page.permission and not user.has_perm(page.permission):
            continue
        if _begins(words, f"{page.title} {page.also}"):
            yield Entry(title=page.title, href=reverse(page.view), icon=page.icon)


def _agents(user: User, words: list[str]) -> Iterator[Entry]:
    agents = agents_visible_to(user).order_by("name", "pk").only("name", "slug")
    for agent in _titled(agents.select_related(None), words, "name"):
        yield Entry(
            title=agent.name, href=reverse("agents:agent_detail", args=[agent.slug]), icon="agent"
        )


def _conversations(user: User, words: list[str]) -> Iterator[Entry]:
    latest = conversations_begun_by(user).select_related(None).exclude(title="").only("title")
    for conversation in _titled(latest, words, "title"):
        yield Entry(
            title=conversation.title,
            href=reverse("chat:conversation_detail", args=[conversation.pk]),
            icon="chat",
        )


def _titled(rows: QuerySet[Any], words: list[str], name: str) -> list[Any]:
    """Return the first of some rows whose title has words that begin so."""
    looked_through = rows[: LOOKED_THROUGH if words else MOST_OTHERS]
    found = (row for row in looked_through if _begins(words, getattr(row, name)))
    return list(islice(found, MOST_OTHERS))


def _begins(words: Iterable[str], title: str) -> bool:
    held = words_of(title)
    return all(any(word.startswith(begin) for word in held) for begin in words)
