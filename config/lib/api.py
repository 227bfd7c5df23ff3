"""What all of the REST API shares: paging and scopes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from uuid import UUID

from rest_framework import exceptions
from rest_framework.pagination import CursorPagination
from rest_framework.permissions import BasePermission

from config.lib.challenges import challenge
from config.lib.errors import InvalidInput, NotAllowed
from config.lib.numbers import whole_number
from config.lib.types import JsonObject

if TYPE_CHECKING:  # DRF's views import this module through the settings
    from rest_framework.request import Request
    from rest_framework.views import APIView


PAGE = 50
MOST_ON_PAGE = 200


class HasRequiredScope(BasePermission):
    """Let a token in only where it carries the scope that the view names.

    A view says `required_scopes = {"GET": "tools:read", "POST": ("chat", "tools:write")}`; of
    several, a token needs all. A session is a person in the browser and is not limited by
    scopes; a token without scopes may do all.
    """

    message = "This token lacks the scope that the request needs."

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Compare the token's scopes with what the view requires for this method."""
        granted = scopes_of(request)
        if granted is None:
            return True
        needed = required_by(view, request.method)
        if lacking := sorted(needed - granted):
            raise InsufficientScope(request, lacking[0], needed)
        return True


def required_by(view: object, method: str | None) -> set[str]:
    """Return all the scopes that a view asks of a token for this method."""
    needed = getattr(view, "required_scopes", {}).get(method, ())
    return {needed} if isinstance(needed, str) else set(needed)


def read_write(subject: str) -> dict[str, str]:
    """Return what most views require: `tools:read` of a GET, say, and `tools:write` of the rest."""
    writing = dict.fromkeys(("POST", "PUT", "PATCH", "DELETE"), f"{subject}:write")
    return {"GET": f"{subject}:read", **writing}


class InsufficientScope(exceptions.PermissionDenied):
    """A token lacks a scope; the answer names all that the request needs (step-up)."""

    def __init__(self, request: Request, lacking: str, needed: Iterable[str]) -> None:
        super().__init__(f"This token lacks the scope “{lacking}”.")
        self.auth_header = challenge(rest_of(request), error="insufficient_scope", scopes=needed)


def require_held(request: Request, scopes: Iterable[str]) -> None:
    """Refuse a limited token to give something scopes that it has not itself."""
    granted = scopes_of(request)
    given = set(scopes)
    if granted is not None and (lacking := sorted(given - granted)):
        raise InsufficientScope(request, lacking[0], given)


def rest_of(request: Request) -> str:
    """Return the address of the REST API as a resource that tokens are meant for (RFC 8707)."""
    return f"{request.build_absolute_uri('/')}api/v1"


def scopes_of(request: Request) -> frozenset[str] | None:
    """Return what a token is limited to; a session, or a token without scopes, is not limited."""
    granted: frozenset[str] | None = getattr(request.auth, "scopes", None)
    return granted


def token_of(request: Request) -> str:
    """Return the OAuth access token that a request came with; empty for everything else."""
    text: str = getattr(request.auth, "token", "")
    return text


def agent_of(request: Request) -> UUID | None:
    """Return the agent that an agent's own token acts as; None for everything else."""
    agent_id: UUID | None = getattr(request.auth, "agent_id", None)
    return agent_id


def require_person(request: Request, refusal: str) -> None:
    """Refuse an agent's own token what only a person, or a program of theirs, may do."""
    if agent_of(request) is not None:
        raise NotAllowed(refusal, "Its owner does so, in the browser or with a token of theirs.")


def agent_asked(request: Request, slug: str) -> str:
    """Return the agent that a call is made as: that of an agent's own token, or the one asked for.

    Raises NotAllowed where such a token asks for another one.
    """
    own: str = getattr(request.auth, "agent_slug", "")
    if own and slug not in ("", own):
        raise NotAllowed(f"This token is that of the agent {own}.", f"Leave out {slug}.")
    return own or slug


class CursorPages(CursorPagination):
    """Page through a list by `?limit=&cursor=`."""

    page_size = PAGE
    max_page_size = MOST_ON_PAGE
    page_size_query_param = "limit"
    ordering = ("-created_at", "pk")

    def get_page_size(self, request: Request) -> int | None:
        """Return how many fit on a page; raise InvalidInput where `limit` is no number above 0."""
        asked = request.query_params.get("limit", "")
        size = whole_number(asked)
        if asked and not size:
            raise InvalidInput("“limit” is no whole number above 0.", "Send limit=50, say.")
        return min(size or PAGE, MOST_ON_PAGE)

    def get_schema_operation_parameters(self, view: APIView) -> list[JsonObject]:
        """Describe `limit` and `cursor`."""
        size: JsonObject = {"type": "integer", "minimum": 1, "default": PAGE}
        told = f"How many on a page; more than {MOST_ON_PAGE} are cut to that."
        cursor = "Where the page begins: from `next` or `previous` of another page."
        return [
            {"name": "limit", "in": "query", "description": told, "schema": size},
            {"name": "cursor", "in": "query", "description": cursor, "schema": {"type": "string"}},
        ]

    def get_paginated_response_schema(self, schema: JsonObject) -> JsonObject:
        """Describe a page: `{next, previous, results}`."""
        address: JsonObject = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {"next": address, "previous": address, "results": schema},
            "additionalProperties": False,
        }
