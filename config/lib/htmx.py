"""Decide full page or fragment, in one place."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def wants_fragment(request: HttpRequest) -> bool:
    """Tell whether htmx asks for a part of the page it already shows.

    A boosted link and the restoring of history both need the whole page.
    """
    htmx = getattr(request, "htmx", None)
    if not htmx:
        return False
    return not htmx.boosted and not htmx.history_restore_request


def render_page(
    request: HttpRequest,
    page: str,
    context: dict[str, Any],
    *,
    fragment: str,
    status: int = 200,
) -> HttpResponse:
    """Render `fragment` for htmx and `page`, which includes it, for everybody else."""
    template = fragment if wants_fragment(request) else page
    return render(request, template, context, status=status)
