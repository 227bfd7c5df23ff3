"""Pages of credentials and API tokens."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from agents import selectors, services, tokens
from agents.forms import CredentialForm, TokenForm
from config.lib.errors import DomainError
from config.lib.http import SignedInRequest


@login_required
@require_http_methods(["GET", "POST"])
def credential_list(request: SignedInRequest) -> HttpResponse:
    """List credentials, never their values, and set one."""
    form = CredentialForm(
        request.POST or None, user=request.user, initial={"name": request.GET.get("name", "")}
    )
    if form.is_valid():
        try:
            credential = services.credential_set(request.user, **form.cleaned_data)
        except DomainError as error:
            form.add_error(None, f"{error.message} {error.hint}")
        else:
            messages.success(request, f"{credential.name} is stored, encrypted.")
            return redirect("agents:credential_list")
    context = {"form": form, "credentials": selectors.credentials_of(request.user)}
    return render(request, "agents/credentials.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def credential_delete(request: SignedInRequest, credential_id: UUID) -> HttpResponse:
    """Forget a credential."""
    services.credential_delete(request.user, credential_id)
    messages.success(request, "The credential is deleted.")
    return redirect("agents:credential_list")


@login_required
@require_http_methods(["GET", "POST"])
def token_list(request: SignedInRequest) -> HttpResponse:
    """List API tokens and make one, whose text is shown in this answer only."""
    form = TokenForm(request.POST or None)
    text = ""
    if form.is_valid():
        try:
            _, text = tokens.token_create(request.user, **form.cleaned_data)
        except DomainError as error:
            form.add_error(None, f"{error.message} {error.hint}")
        else:
            form = TokenForm()
    context = {"form": form, "tokens": selectors.tokens_of(request.user), "text": text}
    response = render(request, "agents/tokens.html", context, status=400 if form.errors else 200)
    response["Cache-Control"] = "no-store"
    return response


@login_required
@require_POST
def token_revoke(request: SignedInRequest, token_id: UUID) -> HttpResponse:
    """Revoke a token at once."""
    tokens.token_revoke(request.user, token_id)
    messages.success(request, "The token is revoked.")
    return redirect("agents:token_list")
