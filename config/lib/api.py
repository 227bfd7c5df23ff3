"""What all of the REST API shares: paging and scopes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rest_framework import exceptions
from rest_framework.pagination import CursorPagination
from rest_framework.permissions import BasePermission

if TYPE_CHECKING:  # DRF's views import this module through the settings
    from rest_framework.request import Request
    from rest_framework.views import APIView


class HasRequiredScope(BasePermission):
    """Let a token in only where it carries the scope that the view names.

    A view says `required_scopes = {"GET": "tools:read", "POST": ("chat", "tools:write")}`; of
    several, a token needs all. A session is a person in the browser and is not limited by
    scopes; a token without scopes may do all.
    """

    message = "This token lacks the scope that the request needs."

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Compare the token's scopes with what the view requires for this method."""
        needed = getattr(view, "required_scopes", {}).get(request.method)
        granted: Sequence[str] = getattr(request.auth, "scopes", None) or ()
        if not needed or request.auth is None or not granted:
            return True
        for scope in (needed,) if isinstance(needed, str) else needed:
            if scope not in granted:
                raise exceptions.PermissionDenied(f"This token lacks the scope “{scope}”.")
        return True


class CursorPages(CursorPagination):
    """Page through a list by `?limit=&cursor=`."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "limit"
    ordering = ("-created_at", "pk")
