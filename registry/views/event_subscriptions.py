"""Pages of event subscriptions: their form, their secret (shown once), what was sent."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from config.lib.errors import DomainError
from config.lib.form_errors import show_refusal
from config.lib.htmx import render_page, wants_fragment
from config.lib.http import SignedInRequest
from config.lib.paging import CappedPaginator
from registry.event_forms import EventSubscriptionForm
from registry.models import EventSubscription
from registry.models.event_subscription import DeliveryStatus
from registry.notify import selectors, subscriptions
from registry.notify.sending_again import redeliver, send_test

PER_PAGE = 25
DETAIL = "registry/event_subscription.html"


@login_required
@require_GET
def event_subscription_list(request: SignedInRequest) -> HttpResponse:
    """Show a person's subscriptions."""
    rows = list(selectors.subscriptions_counted(request.user))
    context = {"subscriptions": rows, "most": subscriptions.MOST}
    return render(request, "registry/event_subscription_list.html", context)


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def event_subscription_create(request: SignedInRequest) -> HttpResponse:
    """Show the form of a new subscription; make it and show its secret, in this answer only."""
    form = EventSubscriptionForm(request.POST or None, user=request.user)
    if form.is_valid():
        try:
            made, secret = subscriptions.subscription_create(request.user, form.plan)
        except DomainError as error:
            show_refusal(form, error)
        else:
            return _page(request, made, secret=secret)
    return _form(request, form, None)


@login_required
@require_GET
def event_subscription(request: SignedInRequest, subscription_id: UUID) -> HttpResponse:
    """Show a subscription with its deliveries, which are asked for again while some wait."""
    found = selectors.subscription_of(request.user, subscription_id)
    context = _context(request, found)
    return render_page(request, DETAIL, context, fragment="registry/_event_deliveries.html")


@login_required
@require_http_methods(["GET", "POST"])
def event_subscription_edit(request: SignedInRequest, subscription_id: UUID) -> HttpResponse:
    """Show the form of a subscription, and change it."""
    found = selectors.subscription_of(request.user, subscription_id)
    sent = request.POST if request.method == "POST" else None
    form = EventSubscriptionForm(sent, user=request.user, subscription=found)
    if form.is_valid():
        try:
            subscriptions.subscription_change(found, form.plan)
        except DomainError as error:
            show_refusal(form, error)
        else:
            messages.success(request, "Saved.")
            return redirect("registry:event_subscription", found.pk)
    return _form(request, form, found)


@login_required
@require_POST
def event_subscription_switch(request: SignedInRequest, subscription_id: UUID) -> HttpResponse:
    """Switch a subscription on or off."""
    found = selectors.subscription_of(request.user, subscription_id)
    is_on = request.POST.get("active") == "true"
    subscriptions.subscription_switch(found, active=is_on)
    messages.success(request, f"The subscription is {'on' if is_on else 'off'}.")
    return redirect("registry:event_subscription", found.pk)


@login_required
@never_cache
@require_POST
def event_subscription_rotate(request: SignedInRequest, subscription_id: UUID) -> HttpResponse:
    """Give a subscription another secret, and show it in this answer only."""
    found = selectors.subscription_of(request.user, subscription_id)
    return _page(request, found, secret=subscriptions.secret_rotate(found))


@login_required
@require_POST
def event_subscription_test(request: SignedInRequest, subscription_id: UUID) -> HttpResponse:
    """Send a test event and show how it went."""
    found = selectors.subscription_of(request.user, subscription_id)
    try:
        tried = send_test(found)
    except DomainError as error:
        messages.error(request, f"{error.message} {error.hint}")
        return redirect("registry:event_subscription", found.pk)
    return _page(request, found, tried=tried, attempt=tried.attempts[-1])


@login_required
@require_POST
def event_redeliver(
    request: SignedInRequest, subscription_id: UUID, delivery_id: UUID
) -> HttpResponse:
    """Send an event again."""
    delivery = selectors.delivery_of(request.user, subscription_id, delivery_id)
    try:
        redeliver(delivery)
    except DomainError as error:
        messages.error(request, f"{error.message} {error.hint}")
    else:
        messages.success(request, "The event is sent again.")
    return redirect("registry:event_subscription", subscription_id)


@login_required
@require_POST
def event_subscription_delete(request: SignedInRequest, subscription_id: UUID) -> HttpResponse:
    """Delete a subscription."""
    subscriptions.subscription_delete(selectors.subscription_of(request.user, subscription_id))
    messages.success(request, "The subscription is deleted.")
    url = reverse("registry:event_subscription_list")
    return HttpResponseClientRedirect(url) if wants_fragment(request) else redirect(url)


def _form(
    request: SignedInRequest, form: EventSubscriptionForm, found: EventSubscription | None
) -> HttpResponse:
    context = {"form": form, "subscription": found}
    status = 422 if form.errors else 200
    return render(request, "registry/event_subscription_form.html", context, status=status)


def _page(request: SignedInRequest, found: EventSubscription, **told: Any) -> HttpResponse:
    return render(request, DETAIL, {**_context(request, found), **told})


def _context(request: SignedInRequest, found: EventSubscription) -> dict[str, Any]:
    rows = selectors.deliveries_of(found)
    page = CappedPaginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    waits = any(each.status == DeliveryStatus.WAITING for each in page.object_list)
    return {
        "subscription": found,
        "agent": selectors.agent_name(found),
        "page": page,
        "waits": waits and found.active,
    }
