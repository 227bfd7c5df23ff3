"""Pages of an agent's own programs, and of the programs that a person has let in."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agents import selectors
from agents.forms import ProgramForm
from agents.models import OAuthClient
from agents.oauth import clients, grants
from agents.oauth.consent import host_of, is_by_document, shown_name
from agents.oauth.scopes import FIRST
from agents.tokens import agent_scopes
from config.lib.errors import DomainError
from config.lib.http import SignedInRequest


@login_required
@require_http_methods(["GET", "POST"])
def program_list(request: SignedInRequest, slug: str) -> HttpResponse:
    """List an agent's programs and make one, whose secret is shown in this answer only."""
    agent = selectors.agent_owned_by(request.user, slug)
    form, made, secret = ProgramForm(request.POST or None), None, ""
    if form.is_valid():
        try:
            made, secret = clients.client_make(agent, **form.cleaned_data)
        except DomainError as error:
            form.add_error(None, f"{error.message} {error.hint}")
        else:
            form = ProgramForm()
    return _programs(request, slug, form=form, made=made, secret=secret)


@login_required
@require_POST
def program_rotate(request: SignedInRequest, slug: str, client_id: int) -> HttpResponse:
    """Give a program another secret, shown in this answer only."""
    client = clients.client_owned_by(request.user, client_id)
    secret = clients.client_rotate(client)
    return _programs(request, slug, form=ProgramForm(), made=client, secret=secret)


@login_required
@require_POST
def program_delete(request: SignedInRequest, slug: str, client_id: int) -> HttpResponse:
    """Delete a program at once."""
    client = clients.client_owned_by(request.user, client_id)
    clients.client_delete(client)
    messages.success(request, f"{client.name} is deleted, and its tokens with it.")
    return redirect("agents:program_list", slug)


@login_required
@require_safe
def grant_list(request: SignedInRequest) -> HttpResponse:
    """List the programs that a person has let in."""
    shown = [
        {
            "grant": grant,
            "name": shown_name(grant.client),
            "host": host_of(grant.client.client_id) if is_by_document(grant.client) else "",
        }
        for grant in grants.grants_of(request.user)
    ]
    return render(request, "oauth/connected.html", {"connected": shown})


@login_required
@require_POST
def grant_revoke(request: SignedInRequest, client_id: int) -> HttpResponse:
    """Take back what a program may do."""
    grants.grant_revoke(request.user, client_id)
    messages.success(request, "The program is let in no longer.")
    return redirect("agents:grant_list")


def _programs(
    request: SignedInRequest,
    slug: str,
    *,
    form: ProgramForm,
    made: OAuthClient | None,
    secret: str,
) -> HttpResponse:
    agent = selectors.agent_owned_by(request.user, slug)
    context = {
        "agent": agent,
        "form": form,
        "clients": clients.clients_of(agent),
        "made": made,
        "secret": secret,
        "resource": request.build_absolute_uri(f"/mcp/agents/{agent.slug}"),
        "token_url": request.build_absolute_uri("/o/token"),
        "first": [*FIRST, *agent.scopes],
        "scopes": agent_scopes(agent.scopes),
    }
    response = render(request, "oauth/programs.html", context, status=400 if form.errors else 200)
    response["Cache-Control"] = "no-store"
    return response
