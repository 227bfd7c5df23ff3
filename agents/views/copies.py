"""Take an agent out as a file, bring one in, and clone one."""

import json

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agents import portable, selectors
from agents.documents import LARGEST, AgentDocument, DocumentRefused, read_document
from agents.portable import Copied
from config.lib.document_forms import DocumentForm
from config.lib.errors import DomainError
from config.lib.http import SignedInRequest


class ImportForm(DocumentForm):
    """An exported agent, as a file or pasted."""

    largest, refused = LARGEST, DocumentRefused

    def text(self) -> str:
        """Return what was sent; raise DocumentRefused where that is too much or no text."""
        text = super().text()
        if len(text) > LARGEST:
            raise DocumentRefused(f"It has more than {LARGEST:,} signs.")
        if not text.strip():
            raise DocumentRefused("Nothing was sent.", "Choose a file, or paste its text.")
        return text


@login_required
@require_safe
def agent_export(request: SignedInRequest, slug: str) -> HttpResponse:
    """Send an agent as a file of JSON."""
    agent = selectors.agent_visible_to(request.user, slug)
    answer = JsonResponse(
        portable.agent_written(agent).as_json(),
        json_dumps_params={"indent": 2, "ensure_ascii": False},
    )
    answer["Content-Disposition"] = f'attachment; filename="{agent.slug}.json"'
    return answer


@login_required
@require_http_methods(["GET", "POST"])
def agent_import(request: SignedInRequest) -> HttpResponse:
    """Show what an exported agent would become here; with `confirm`, make it."""
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "GET" or not form.is_valid():
        return render(request, "agents/import.html", {"form": form})
    try:
        text = form.text()
        document = _parsed(text)
        if "confirm" in request.POST:
            return _made(request, portable.agent_read(request.user, document))
        preview = portable.agent_preview(request.user, document)
    except DomainError as error:
        form.add_error(None, f"{error.message} {error.hint}".strip())
        return render(request, "agents/import.html", {"form": form}, status=400)
    shown = {"form": form, "preview": preview, "text": text}
    return render(request, "agents/import.html", shown)


@login_required
@require_POST
def agent_clone(request: SignedInRequest, slug: str) -> HttpResponse:
    """Make a copy that is the person's own."""
    agent = selectors.agent_visible_to(request.user, slug)
    return _made(request, portable.agent_clone(agent, request.user))


def _parsed(text: str) -> AgentDocument:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise DocumentRefused(f"It is no JSON: {error}.") from None
    except RecursionError:
        raise DocumentRefused("It is nested too deep.") from None
    return read_document(value)


def _made(request: SignedInRequest, copied: Copied) -> HttpResponse:
    messages.success(request, f"{copied.agent.name} is yours. Its credentials are not copied.")
    for note in copied.notes:
        messages.warning(request, note)
    return redirect("agents:agent_detail", copied.agent.slug)
