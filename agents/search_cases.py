"""Labelled queries: what the tool search should find for an agent's people.

The owner of the agent writes them, from a real turn or by hand. A case counts the tools that the
owner may use; what somebody else may use besides is not judged.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Prefetch, QuerySet

from agents.credentials import known_values
from agents.models import Agent, ExpectedTool, SearchCase
from agents.models.search_case import LONGEST_QUERY, MOST_RECENT
from config.lib.errors import Conflict, InvalidInput, NotFound
from config.lib.jsontext import clean_text
from config.lib.masking import SHORTEST_RECODED, Masker
from registry.models import Tool
from registry.models.tool import ToolKind
from registry.selectors import tools_usable_by

MOST_CASES = 500
"""Labelled queries of one agent: as many as are measured within seconds."""

MOST_EXPECTED = 10

_EXPECTED = Prefetch(
    "expected",
    Tool.objects.only("pk", "wire_name", "title", "deleted_at").order_by("wire_name", "pk"),
)


@dataclass(frozen=True, kw_only=True)
class CaseDraft:
    """What a form about a case begins with; `saved` where the case is there already."""

    query: str = ""
    recent: tuple[str, ...] = ()
    expected: tuple[UUID, ...] = ()
    saved: bool = False


def cases_of(agent: Agent) -> QuerySet[SearchCase]:
    """Return an agent's labelled queries with the tools they expect, newest first."""
    return (
        SearchCase.objects.filter(agent=agent)
        .select_related("agent")
        .prefetch_related(_EXPECTED)
        .order_by("-created_at", "pk")
    )


def all_cases() -> QuerySet[SearchCase]:
    """Return the labelled queries of all agents, agent by agent."""
    return (
        SearchCase.objects.select_related("agent__owner")
        .prefetch_related(_EXPECTED)
        .order_by("agent_id", "pk")
    )


def case_owned_by(user: User, slug: str, case_id: UUID) -> SearchCase:
    """Return one labelled query of a person's own agent, or raise NotFound."""
    cases = SearchCase.objects.filter(pk=case_id, agent__slug=slug, agent__owner=user)
    case = cases.select_related("agent__owner").prefetch_related(_EXPECTED).first()
    if case is None:
        raise NotFound(
            "There is no such query with an agent of yours.",
            "See the search page of your agent.",
        )
    return case


@transaction.atomic
def case_create(
    agent: Agent,
    *,
    by: User,
    query: str,
    expected: Collection[UUID] = (),
    recent: Sequence[str] = (),
    turn_id: UUID | None = None,
) -> SearchCase:
    """Keep a labelled query of an agent; nothing `expected` says that nothing should be found.

    Raises InvalidInput for what cannot be kept, and Conflict for a query that is there already.
    """
    Agent.objects.select_for_update().get(pk=agent.pk)  # so that the limit holds
    if SearchCase.objects.filter(agent=agent).count() >= MOST_CASES:
        raise InvalidInput(
            f"{agent.name} has {MOST_CASES} labelled queries already.", "Delete some first."
        )
    case = SearchCase(agent=agent, created_by=by, turn_id=turn_id)
    return _saved(case, query=query, expected=expected, recent=recent)


@transaction.atomic
def case_update(
    case: SearchCase, *, query: str, expected: Collection[UUID], recent: Sequence[str]
) -> SearchCase:
    """Change a labelled query; raises as `case_create` does."""
    return _saved(case, query=query, expected=expected, recent=recent)


def case_delete(case: SearchCase) -> None:
    """Delete a labelled query; what was measured stays."""
    case.delete()


def _saved(
    case: SearchCase, *, query: str, expected: Collection[UUID], recent: Sequence[str]
) -> SearchCase:
    agent = case.agent
    masker = Masker(
        value for value in known_values(agent.owner, agent) if len(value) >= SHORTEST_RECODED
    )
    case.query = masker.text(_words(query, "query"))
    case.recent = [masker.text(_words(text, "recent")) for text in recent if text.strip()]
    if not case.query:
        raise _invalid("query", "Say what the person said.")
    if len(case.recent) > MOST_RECENT:
        raise _invalid("recent", f"At most {MOST_RECENT} earlier messages are looked at.")
    tools = _usable(agent, set(expected), kept={tool.pk for tool in _kept(case)})
    try:
        with transaction.atomic():
            case.save()
    except IntegrityError:
        raise Conflict(
            f"{agent.name} has this query already.", "Change that one instead."
        ) from None
    ExpectedTool.objects.filter(case=case).delete()
    ExpectedTool.objects.bulk_create(ExpectedTool(case=case, tool=tool) for tool in tools)
    return all_cases().get(pk=case.pk)


def _kept(case: SearchCase) -> Iterable[Tool]:
    return case.expected.all() if not case._state.adding else ()


def _usable(agent: Agent, ids: set[UUID], *, kept: Collection[UUID]) -> list[Tool]:
    """Return the tools; those that the case has already may have gone meanwhile."""
    if len(ids) > MOST_EXPECTED:
        raise _invalid("expected", f"At most {MOST_EXPECTED} tools can be expected.")
    usable = tools_usable_by(agent.owner).exclude(kind=ToolKind.CODE).filter(pk__in=ids)
    tools = {tool.pk: tool for tool in usable}
    old = ids & set(kept) - tools.keys()
    tools.update((tool.pk, tool) for tool in Tool.objects.filter(pk__in=old))
    if missing := ids - tools.keys():
        raise _invalid(
            "expected",
            f"There is no tool {sorted(map(str, missing))[0]}, or {agent.name}'s owner may not "
            "use it.",
        )
    return sorted(tools.values(), key=lambda tool: (tool.wire_name, tool.pk))


def _words(text: str, path: str) -> str:
    text = clean_text(text).strip()
    if len(text) > LONGEST_QUERY:
        raise _invalid(path, f"At most {LONGEST_QUERY:,} characters are looked at.")
    return text


def _invalid(path: str, message: str) -> InvalidInput:
    return InvalidInput(
        message, "Correct the named field.", problems=[{"path": path, "message": message}]
    )
