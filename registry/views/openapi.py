"""The import of OpenAPI documents: the document first, then its operations."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from config.lib.errors import DomainError
from config.lib.htmx import wants_fragment
from config.lib.http import SignedInRequest
from registry.forms import PackageImportForm
from registry.importing.access import reviews_packages
from registry.importing.jobs import import_request
from registry.importing.openapi.naming import slug
from registry.importing.openapi_choosing import (
    Choice,
    choice_of,
    first_choice,
    package_before,
    servers_offered,
)
from registry.importing.openapi_documents import document_fetch, document_for, document_upload
from registry.models import ApiDocument, ImportJob
from registry.models.package import Ecosystem
from registry.openapi_forms import OpenApiDocumentForm, OperationsForm
from registry.views.packages import package_list_page

IMPORT = "import"
COUNT = "count"


@login_required
@require_http_methods(["GET", "POST"])
def openapi_document(request: SignedInRequest) -> HttpResponse:
    """Read a document and go to the choice of its operations."""
    if request.method == "GET":
        return redirect("registry:package_list")
    form = OpenApiDocumentForm(request.POST, request.FILES, label_suffix="", prefix="openapi")
    if form.is_valid():
        url, file = form.cleaned_data["url"], form.cleaned_data["file"]
        try:
            if file:
                document = document_upload(file.read(), file.name or "", user=request.user)
            else:
                document = document_fetch(url, user=request.user)
        except DomainError as error:
            form.add_error("file" if file else "url", f"{error.message} {error.hint}")
        else:
            return redirect("registry:openapi_operations", document.pk)
    return package_list_page(
        request,
        PackageImportForm(governs=reviews_packages(request.user)),
        openapi_form=form,
        status=422,
    )


@login_required
@require_http_methods(["GET", "POST"])
def openapi_operations(request: SignedInRequest, document_id: UUID) -> HttpResponse:
    """Let a person choose operations: each press of a button renders the choice anew."""
    document = document_for(request.user, document_id)
    if request.method == "GET":
        return _first_page(request, document)
    choice = choice_of(document, request.POST.getlist("operation"), request.POST.get("q", ""))
    pressed = request.POST.get("do", IMPORT)
    if pressed != IMPORT:
        choice = choice.done(pressed)
        form = OperationsForm(None, initial={name: request.POST.get(name, "") for name in NAMES})
        return _page(request, choice, form, counted=pressed == COUNT)
    form = OperationsForm(request.POST, initial={})
    if not choice.chosen:
        form.add_error(None, "Choose at least one operation.")
    if form.is_valid():
        try:
            job = _requested(request, choice, form)
        except DomainError as error:
            form.add_error(None, f"{error.message} {error.hint}")
        else:
            return redirect("registry:job_detail", job.pk)
    return _page(request, choice, form, status=422)


NAMES = ("name", "server")


def _requested(request: SignedInRequest, choice: Choice, form: OperationsForm) -> ImportJob:
    document = choice.document
    keys = [row["key"] for row in document.overview if row["key"] in choice.chosen]
    return import_request(
        ecosystem=Ecosystem.OPENAPI,
        name=form.cleaned_data["name"],
        settings={
            **({"url": document.url} if document.url else {}),
            "digest": document.digest,
            "selection": keys,
            "server": form.cleaned_data["server"],
        },
        user=request.user,
    )


def _first_page(request: SignedInRequest, document: ApiDocument) -> HttpResponse:
    package = package_before(document, request.user)
    servers = servers_offered(document)
    server = package.settings.get("server", "") if package else ""
    initial = {
        "name": package.name if package else slug(document.title),
        "server": server or (servers[0] if servers else ""),
    }
    return _page(request, first_choice(document, package), OperationsForm(None, initial=initial))


def _page(
    request: SignedInRequest,
    choice: Choice,
    form: OperationsForm,
    *,
    counted: bool = False,
    status: int = 200,
) -> HttpResponse:
    context = {"choice": choice, "form": form, "document": choice.document, "counted": counted}
    if wants_fragment(request) and status == 200:  # noqa: PLR2004 - a refusal is a whole page
        template = "registry/_operations_count.html" if counted else "registry/_operations.html"
        return render(request, template, context)
    context["servers"] = servers_offered(choice.document)
    return render(request, "registry/openapi_operations.html", context, status=status)
