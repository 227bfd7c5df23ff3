"""Pages of webhooks: their form, their secret (shown once), and a test."""

import json
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from config.lib.errors import DomainError, InvalidInput
from config.lib.form_errors import show_refusal
from config.lib.http import SignedInRequest
from config.lib.types import JsonObject
from sequences.forms.triggers import WebhookForm
from sequences.models import Webhook
from sequences.selectors import sequence_visible_to
from sequences.triggers import deliveries, lines, selectors, webhooks
from sequences.triggers.snippets import snippets_for
from sequences.triggers.webhooks import WebhookPlan
from sequences.views.triggers import changed


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def webhook_create(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show the form of a new webhook; make it and show its secret, in this answer only."""
    tool = sequence_visible_to(request.user, tool_id)
    form = WebhookForm(request.POST or None)
    if form.is_valid():
        plan = WebhookPlan(
            name=form.cleaned_data["name"], input_mapping=form.cleaned_data["input_mapping"]
        )
        try:
            webhook, secret = webhooks.webhook_create(
                request.user, tool, plan, signing=form.cleaned_data["signing"]
            )
        except DomainError as error:
            _refuse(form, error)
        else:
            return _page(request, webhook, secret=secret)
    context = {"tool": tool, "form": form, "webhook": None}
    status = 422 if form.errors else 200
    return render(request, "sequences/triggers/webhook_form.html", context, status=status)


@login_required
@require_GET
def webhook_detail(request: SignedInRequest, webhook_id: UUID) -> HttpResponse:
    """Show a webhook's address and how messages to it are sent."""
    return _page(request, selectors.webhook_of(request.user, webhook_id))


@login_required
@require_http_methods(["GET", "POST"])
def webhook_edit(request: SignedInRequest, webhook_id: UUID) -> HttpResponse:
    """Show the form of a webhook, and change it."""
    webhook = selectors.webhook_of(request.user, webhook_id)
    form = WebhookForm(request.POST if request.method == "POST" else None, webhook=webhook)
    if form.is_valid():
        try:
            webhooks.webhook_change(webhook, webhooks.plan_of(webhook, **form.cleaned_data))
        except DomainError as error:
            _refuse(form, error)
        else:
            return redirect("sequences:webhook_detail", webhook.pk)
    context = {"tool": webhook.tool, "form": form, "webhook": webhook}
    status = 422 if form.errors else 200
    return render(request, "sequences/triggers/webhook_form.html", context, status=status)


@login_required
@require_POST
def webhook_switch(request: SignedInRequest, webhook_id: UUID) -> HttpResponse:
    """Switch a webhook on or off."""
    webhook = selectors.webhook_of(request.user, webhook_id)
    is_on = request.POST.get("enabled") == "true"
    try:
        webhooks.webhook_switch(webhook, enabled=is_on)
    except DomainError as error:
        return changed(request, webhook.tool, f"{error.message} {error.hint}", failed=True)
    return changed(request, webhook.tool, f"The webhook is {'on' if is_on else 'off'}.")


@login_required
@never_cache
@require_POST
def webhook_rotate(request: SignedInRequest, webhook_id: UUID) -> HttpResponse:
    """Give a webhook another secret, and show it in this answer only."""
    webhook = selectors.webhook_of(request.user, webhook_id)
    return _page(request, webhook, secret=webhooks.webhook_rotate(webhook))


@login_required
@require_POST
def webhook_test(request: SignedInRequest, webhook_id: UUID) -> HttpResponse:
    """Sign the message of the form and take it as one that came in."""
    webhook = selectors.webhook_of(request.user, webhook_id)
    text = request.POST.get("body", "")
    try:
        received = deliveries.try_out(webhook, _object(text))
    except DomainError as error:
        return _page(request, webhook, body=text, error=error)
    return _page(request, webhook, body=text, tried=received)


@login_required
@require_POST
def webhook_delete(request: SignedInRequest, webhook_id: UUID) -> HttpResponse:
    """Delete a webhook."""
    webhook = selectors.webhook_of(request.user, webhook_id)
    webhooks.webhook_delete(webhook)
    return changed(request, webhook.tool, "The webhook is deleted. Its runs are kept.")


def _page(
    request: SignedInRequest, webhook: Webhook, *, body: str | None = None, **told: Any
) -> HttpResponse:
    address = request.build_absolute_uri(reverse("sequences:hook", args=[webhook.pk]))
    sample = json.dumps(lines.sample_of(webhook.tool), ensure_ascii=False)
    context = {
        "tool": webhook.tool,
        "webhook": webhook,
        "address": address,
        "body": sample if body is None else body,
        "snippets": snippets_for(webhook.signing, address, sample),
        **told,
    }
    status = 422 if told.get("error") else 200
    return render(request, "sequences/triggers/webhook.html", context, status=status)


def _object(text: str) -> JsonObject:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise InvalidInput(f"The message is not valid JSON: {problem}.") from None
    if not isinstance(value, dict):
        raise InvalidInput("The message must be a JSON object.", 'Such as {"name": "value"}.')
    return value


def _refuse(form: WebhookForm, error: DomainError) -> None:
    """Show what the service refused; all that is said of the mapping beside its one field."""
    paths = {problem["path"] for problem in error.extra.get("problems") or ()}
    mapped = {path: "input_mapping" for path in paths if path.startswith("$.input_mapping")}
    for problem in error.extra.get("problems") or ():
        if problem["path"].startswith("$.input_mapping."):
            name = problem["path"].removeprefix("$.input_mapping.")
            problem["message"] = f"{name}: {problem['message']}"
    show_refusal(form, error, mapped)
