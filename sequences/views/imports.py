"""Take a sequence out as a file, and bring one in as a draft."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from config.lib.document_forms import DocumentForm
from config.lib.errors import DomainError
from config.lib.http import SignedInRequest
from config.lib.jsontext import clean_text
from sequences import selectors
from sequences.beginnings import Begun, draft_from_document
from sequences.documents import LARGEST, DocumentRefused, SequenceDocument, document_in
from sequences.exporting import sequence_written
from sequences.portable import Resolved, resolved
from sequences.views.previews import preview_of


class ImportForm(DocumentForm):
    """An exported sequence, as a file or pasted."""

    largest, refused = LARGEST, DocumentRefused


@login_required
@require_safe
def sequence_export(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Send a sequence as a file of JSON."""
    tool = selectors.sequence_visible_to(request.user, tool_id)
    answer = JsonResponse(
        sequence_written(tool, reader=request.user).as_json(),
        json_dumps_params={"indent": 2, "ensure_ascii": False},
    )
    answer["Content-Disposition"] = f'attachment; filename="{tool.wire_name}.sequence.json"'
    return answer


@login_required
@require_http_methods(["GET", "POST"])
def sequence_import(request: SignedInRequest) -> HttpResponse:
    """Show what an exported sequence would become here; with `confirm`, begin a draft with it."""
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "GET" or not form.is_valid():
        return render(request, "sequences/import.html", {"form": form})
    text = clean_text(request.POST.get("document", ""))
    try:
        text = clean_text(form.text())
        document = document_in(text)
        whole = resolved(document, user=request.user, choices=_choices(request, document))
        if "confirm" in request.POST:
            return opened(request, draft_from_document(request.user, whole, label="Imported"))
    except DomainError as error:
        # what was read of a file goes into the field, so that it can be mended there
        again = ImportForm({"document": text})
        again.is_valid()
        again.add_error(None, f"{error.message} {error.hint}".strip())
        status = int(error.status)
        return render(request, "sequences/import.html", {"form": again}, status=status)
    return _previewed(request, whole, text)


def opened(request: HttpRequest, begun: Begun) -> HttpResponse:
    """Open a draft that was begun in the builder, and tell what is left to be done."""
    messages.success(request, "A draft was begun. Nothing is published yet.")
    for note in begun.notes:
        messages.warning(request, note)
    return redirect("sequences:draft_edit", begun.draft.pk)


def _previewed(request: SignedInRequest, whole: Resolved, text: str) -> HttpResponse:
    context = {"preview": preview_of(whole), "whole": whole, "text": text}
    return render(request, "sequences/import_preview.html", context)


def _choices(request: SignedInRequest, document: SequenceDocument) -> dict[str, str]:
    """Return what was chosen in the preview; its fields are numbered as the tools are."""
    return {
        named.id: chosen
        for number, named in enumerate(document.tools)
        if (chosen := request.POST.get(f"tool-{number}", ""))
    }
