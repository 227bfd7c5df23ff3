"""Scopes, in plain words: our own, and those that tools require."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import F, Func
from oauth2_provider.scopes import BaseScopes
from oauthlib.common import Request

from agents.models import OAuthClient
from agents.tokens import SCOPES, agent_scopes
from registry.models import Tool
from registry.models.package import ReviewStatus
from registry.models.tool import Visibility
from registry.selectors import tools_usable_by

FIRST = ("tools:read", "tools:run")
"""What a client gets that asks for nothing in particular, and what an MCP client begins with."""

SHOWN = 4
"""Tools that are named for each scope."""


class Scopes(BaseScopes):  # type: ignore[misc]
    """Tells the toolkit which scopes there are, and who may have which."""

    def get_all_scopes(self) -> dict[str, str]:
        """Return each scope with its words."""
        return {**{scope: f"Use tools that require “{scope}”" for scope in free_scopes()}, **SCOPES}

    def get_available_scopes(
        self, application: OAuthClient | None = None, request: Request | None = None
    ) -> list[str]:
        """Return what a client may ask for; without a client, what everybody may know of."""
        if application is None:
            return sorted({*SCOPES, *free_scopes(public=True)})
        if application.agent is not None:
            return agent_scopes(application.agent.scopes)
        return sorted({*SCOPES, *free_scopes()})

    def get_default_scopes(
        self, application: OAuthClient | None = None, request: Request | None = None
    ) -> list[str]:
        """Return what a client gets that names no scope: an agent's own, all its agent has."""
        agent = application.agent if application is not None else None
        return sorted({*FIRST, *(agent.scopes if agent else ())})


def free_scopes(among: Collection[str] | None = None, *, public: bool = False) -> set[str]:
    """Return the scopes that living tools require; `public`: tools that everybody may see."""
    tools = Tool.objects.filter(deleted_at=None)
    if public:
        tools = tools.filter(visibility=Visibility.PUBLIC, review_status=ReviewStatus.APPROVED)
    if among is not None:
        tools = tools.filter(required_scopes__overlap=list(among))
    rows = tools.annotate(scope=Func(F("required_scopes"), function="unnest"))
    found = set(rows.order_by().values_list("scope", flat=True).distinct())
    return found if among is None else found & set(among)


@dataclass(frozen=True, kw_only=True)
class ScopeShown:
    """A scope on the consent page: its words, the first tools it opens, and how many more."""

    name: str
    words: str
    tools: tuple[str, ...] = ()
    more: int = 0
    own: bool = True


def scopes_shown(user: User, scopes: Iterable[str]) -> list[ScopeShown]:
    """Say in plain words what scopes would let a program do for a person."""
    return [_shown(user, scope) for scope in sorted(set(scopes), key=_as_listed)]


def _shown(user: User, scope: str) -> ScopeShown:
    usable = tools_usable_by(user).order_by("wire_name")
    if scope in SCOPES:
        if scope != "tools:run":
            return ScopeShown(name=scope, words=SCOPES[scope])
        usable = usable.filter(required_scopes=[])
    else:
        usable = usable.filter(required_scopes__contains=[scope])
    names = tuple(usable.values_list("wire_name", flat=True)[:SHOWN])
    more = usable.count() - len(names) if len(names) == SHOWN else 0
    words = SCOPES.get(scope, f"Use tools that require “{scope}”")
    return ScopeShown(name=scope, words=words, tools=names, more=more, own=scope in SCOPES)


def _as_listed(scope: str) -> tuple[int, str]:
    known = list(SCOPES)
    return (known.index(scope) if scope in known else len(known), scope)
