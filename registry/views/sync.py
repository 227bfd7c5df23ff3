"""How registries are looked through: the feeds, their runs, and what came of each."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from config.lib.htmx import render_page
from config.lib.http import SignedInRequest
from registry.importing.access import reviews_packages
from registry.importing.sync.feeds import feed_ask
from registry.importing.sync.selectors import (
    entries_of,
    entries_waiting,
    feed_for,
    feed_states,
    require_sees_sync,
    runs_recent,
    sync_run_for,
)


@login_required
@require_GET
def sync_status(request: SignedInRequest) -> HttpResponse:
    """Show the feeds and their runs; the fragment asks for itself again while one is under way."""
    require_sees_sync(request.user)
    states = feed_states()
    context = {
        "states": states,
        "is_open": any(state.is_running for state in states),
        "runs": runs_recent(),
        "waiting": entries_waiting(),
        "may_ask": reviews_packages(request.user),
        "may_change": request.user.is_staff and request.user.has_perm("registry.change_syncfeed"),
    }
    return render_page(
        request, "registry/sync_status.html", context, fragment="registry/_sync_status.html"
    )


@login_required
@require_POST
def sync_ask(request: SignedInRequest, feed_id: UUID) -> HttpResponse:
    """Have a feed looked through at once."""
    feed = feed_for(request.user, feed_id)
    feed_ask(feed, user=request.user)
    messages.info(request, f"Looking now: {feed}.")
    return redirect("registry:sync_status")


@login_required
@require_GET
def sync_run(request: SignedInRequest, sync_run_id: UUID) -> HttpResponse:
    """Show what a run noticed, package by package."""
    run = sync_run_for(request.user, sync_run_id)
    context = {"run": run, "entries": entries_of(run), "is_open": run.finished_at is None}
    return render_page(
        request, "registry/sync_run.html", context, fragment="registry/_sync_run.html"
    )
