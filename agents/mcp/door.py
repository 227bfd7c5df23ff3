"""Who may come in: the token of a request, and what it may do at this address."""

from dataclasses import dataclass
from typing import Final

from agents.bearer import Bearer, bearer_of
from agents.mcp.endpoint import Endpoint, Found, endpoint_found
from agents.models import Agent
from agents.models.agent import McpTools
from agents.selectors import agent_visible_to
from config.lib.errors import DomainError, InvalidInput, NotAllowed

NEEDED: Final = {"tools/list": "tools:read", "tools/call": "tools:run"}
"""Which of our scopes a method needs."""

ASKED_FOR = " ".join(sorted(NEEDED.values()))
"""The scopes that somebody without a token is told to ask for."""

DISCOVERY: Final = {"": None, "all": False, "progressive": True}
"""What `?discovery=` may say, and whether that is the progressive list."""


class TokenRefused(DomainError):
    """This token is unknown, expired, revoked or meant for another service."""

    code = "invalid_token"
    status = 401
    default_hint = "Get a new token, and send it as “Authorization: Bearer …”."


class TokenMissing(DomainError):
    """A token is needed here."""

    code = "token_missing"
    status = 401
    default_hint = "Send a token as “Authorization: Bearer …”."


class ScopeMissing(NotAllowed):
    """The token lacks a scope."""

    code = "insufficient_scope"
    default_hint = "Ask for a token that has the scopes named here."


@dataclass(frozen=True, kw_only=True)
class Knock:
    """What a request says of itself: its token, its address and what it wants to do.

    `resource` is the address without its query, which the token must be meant for. `name` is the
    tool that `tools/call` names; both are empty where the request does not say them.
    """

    token: str
    resource: str
    slug: str = ""
    discovery: str = ""
    method: str = ""
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Admitted:
    """What a request that may come in is served from."""

    endpoint: Endpoint
    found: Found | None = None


def admitted(knock: Knock) -> Admitted:
    """Return what the request may use.

    Raises TokenMissing or TokenRefused, ScopeMissing, NotAllowed for the token of another agent,
    NotFound for an agent that its person may not see, and InvalidInput.
    """
    if not knock.token:
        raise TokenMissing()
    bearer = bearer_of(knock.token, resource=knock.resource)
    if bearer is None:
        raise TokenRefused()
    if knock.discovery not in DISCOVERY:
        raise InvalidInput("“discovery” is neither “all” nor “progressive”.", "Leave it out.")
    agent = _agent(bearer, knock.slug)
    progressive = DISCOVERY[knock.discovery]
    if progressive is None:
        progressive = agent is not None and agent.mcp_tools == McpTools.PROGRESSIVE
    endpoint = Endpoint(bearer=bearer, agent=agent, progressive=progressive)
    needed = NEEDED.get(knock.method, "")
    found = endpoint_found(endpoint, knock.name) if knock.name else None
    missing = found.missing if found is not None else frozenset[str]()
    if missing or (needed and not bearer.may(needed)):
        required = found.spec.required_scopes if found is not None else frozenset[str]()
        scopes = sorted({needed, *required} - {""})
        raise ScopeMissing(
            f"This needs the {'scope' if len(scopes) == 1 else 'scopes'} {', '.join(scopes)}.",
            scopes=scopes,
        )
    return Admitted(endpoint=endpoint, found=found)


def _agent(bearer: Bearer, slug: str) -> Agent | None:
    """Return the agent of an address; a token that acts as an agent has that one everywhere."""
    if not slug:
        if bearer.agent_id is None:
            return None
        own = Agent.objects.filter(pk=bearer.agent_id).select_related("owner", "team").first()
        if own is None:
            raise TokenRefused()
        return own
    agent = agent_visible_to(bearer.user, slug)
    if bearer.agent_id not in (None, agent.pk):
        raise NotAllowed("This token acts as another agent.", "Use the address of that agent.")
    return agent
