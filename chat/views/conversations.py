"""Pages of conversations."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from chat import selectors, services
from chat.forms import StartForm, TitleForm
from chat.views.pages import conversation_page
from config.lib.errors import DomainError
from config.lib.htmx import wants_fragment
from config.lib.http import SignedInRequest
from config.lib.numbers import whole_number
from config.lib.paging import CappedPaginator

PAGE_SIZE = 20


@login_required
@require_safe
def conversation_list(request: SignedInRequest) -> HttpResponse:
    """List a person's conversations, and offer to start one."""
    form = StartForm(user=request.user, initial={"agent": request.GET.get("agent")})
    return _list_page(request, form)


@login_required
@require_http_methods(["GET", "POST"])
def conversation_create(request: SignedInRequest) -> HttpResponse:
    """Start a conversation, with its first message where there is one."""
    if request.method == "GET":
        return redirect("chat:conversation_list")
    form = StartForm(request.POST, user=request.user)
    if not form.is_valid():
        return _list_page(request, form, status=400)
    try:
        conversation = services.conversation_start(
            user=request.user,
            agent_slug=form.cleaned_data["agent"].slug,
            content=form.cleaned_data["content"],
        )
    except DomainError as error:
        return _list_page(request, form, error=error, status=error.status)
    return redirect("chat:conversation_detail", conversation.pk)


@never_cache  # a browser that goes back would show it as it was when it was opened
@login_required
@require_safe
def conversation_detail(request: SignedInRequest, conversation_id: UUID) -> HttpResponse:
    """Show what was said and done, and follow what is being done."""
    conversation = selectors.conversation_of(request.user, conversation_id)
    before = whole_number(request.GET.get("before", ""))
    return conversation_page(request, conversation, before=before)


@login_required
@require_POST
def conversation_rename(request: SignedInRequest, conversation_id: UUID) -> HttpResponse:
    """Give a conversation another title."""
    conversation = selectors.conversation_of(request.user, conversation_id)
    form = TitleForm(request.POST)
    title = form.cleaned_data["title"] if form.is_valid() else ""
    services.conversation_rename(conversation, title=title)
    return redirect("chat:conversation_detail", conversation.pk)


@login_required
@require_POST
def conversation_delete(request: SignedInRequest, conversation_id: UUID) -> HttpResponse:
    """Delete a conversation."""
    services.conversation_delete(selectors.conversation_of(request.user, conversation_id))
    messages.success(request, "The conversation is deleted.")
    target = redirect("chat:conversation_list")
    return HttpResponseClientRedirect(target.url) if wants_fragment(request) else target


def _list_page(
    request: SignedInRequest,
    form: StartForm,
    *,
    error: DomainError | None = None,
    status: int = 200,
) -> HttpResponse:
    pages = CappedPaginator(selectors.conversations_with_state(request.user), PAGE_SIZE)
    context = {"form": form, "error": error, "page": pages.get_page(request.GET.get("page"))}
    return render(request, "chat/conversation_list.html", context, status=status)
