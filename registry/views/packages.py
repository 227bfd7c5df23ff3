"""Packages, and the imports that bring them."""

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from config.lib.errors import DomainError, InvalidInput
from config.lib.htmx import render_page
from config.lib.http import SignedInRequest
from config.lib.jsontext import clean_text
from config.lib.paging import CappedPaginator
from registry.forms import PackageImportForm, PythonSettingsForm
from registry.importing.access import may_change, require_may_change, reviews_packages
from registry.importing.errors import InvalidPackageName, InvalidPackageVersion, PackageNotYours
from registry.importing.jobs import IMPORTERS, import_again, import_request
from registry.importing.openapi_choosing import document_of
from registry.importing.python import NOT_OFFERED
from registry.importing.python_requests import PYTHON
from registry.importing.schedule import can_check, schedule_of
from registry.importing.selectors import failed_imports, open_imports, packages_listed, tools_of
from registry.importing.sync.selectors import sees_sync
from registry.mcp_forms import McpImportForm
from registry.models import Package
from registry.models.job import OPEN
from registry.models.package import Ecosystem, ReviewStatus
from registry.needs import tell_needs
from registry.openapi_forms import OpenApiDocumentForm
from registry.review.proposed import package_as_proposed
from registry.selectors import (
    job_visible_to,
    package_visible_to,
    tools_visible_to,
)
from registry.upload_forms import UploadForm
from registry.views.display import pretty
from registry.views.mending import mending_of
from registry.views.network import network_of
from registry.views.proposals import last_refusal, proposal_shown

NOTICES_SHOWN = 3
PACKAGES_A_PAGE = 30
LONGEST_QUERY = 214


@login_required
@require_GET
def package_list(request: SignedInRequest) -> HttpResponse:
    """Show the packages a person may see, and the form that imports one."""
    return package_list_page(request, PackageImportForm(governs=reviews_packages(request.user)))


@login_required
@require_http_methods(["GET", "POST"])
def package_import(request: SignedInRequest) -> HttpResponse:
    """Queue an import and go to its progress; show what is wrong beside the field."""
    if request.method == "GET":
        return redirect("registry:package_list")
    form = PackageImportForm(request.POST, governs=reviews_packages(request.user))
    if form.is_valid():
        try:
            job = import_request(**form.request, user=request.user)
        except (InvalidPackageName, InvalidPackageVersion, PackageNotYours) as error:
            field = "version" if isinstance(error, InvalidPackageVersion) else "name"
            form.add_error(field, f"{error.message} {error.hint}")
        except DomainError as error:
            form.refuse(error)
        else:
            return redirect("registry:job_detail", job.pk)
    return package_list_page(request, form, status=422)


@login_required
@require_GET
def package_detail(request: SignedInRequest, package_id: UUID) -> HttpResponse:
    """Show a package: its tools, what it needs, what the import noticed."""
    package = package_visible_to(request.user, package_id)
    visible = tools_visible_to(request.user).filter(package=package)
    tools = list(tools_of(package))
    tell_needs(tools, request.user)
    context = {
        "package": package,
        "tools": tools,
        "mending": mending_of(package, request.user),
        "schedule": schedule_of(package) if can_check(package) else None,
        "visible": set(visible.values_list("pk", flat=True)),
        "manifest": pretty(package.manifest) if package.manifest else "",
        "network": network_of(package, request.user),
        "may_refresh": package.ecosystem in IMPORTERS and may_change(package, request.user),
        "not_offered": [item for item in package.findings if item["code"] == NOT_OFFERED],
        "findings": [item for item in package.findings if item["code"] != NOT_OFFERED],
        "server": package.settings if package.ecosystem == Ecosystem.MCP else None,
        "api": package.settings if package.ecosystem == Ecosystem.OPENAPI else None,
        "api_document": document_of(package, request.user),
        "has_settings": package.ecosystem in PYTHON,
        "settings": pretty(package.settings) if package.settings else "",
        "failed_jobs": failed_imports(request.user).filter(name=package.name)[:1],
        "waiting": (waiting := proposal_shown(package, request.user)),
        "refusal": None if waiting else last_refusal(package, request.user),
    }
    return render(request, "registry/package_detail.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def package_settings(request: SignedInRequest, package_id: UUID) -> HttpResponse:
    """Change how a Python package is loaded, and have it read anew."""
    package = package_visible_to(request.user, package_id)
    require_may_change(package, request.user)
    if package.ecosystem not in PYTHON:
        raise InvalidInput(f"{package} has no settings.", "Only Python packages have.")
    if request.method == "GET":
        initial = PythonSettingsForm.initial_of(package_as_proposed(package))
        form = PythonSettingsForm(initial=initial, label_suffix="")
        return _package_settings(request, package, form)
    form = PythonSettingsForm(request.POST, label_suffix="")
    if form.is_valid():
        try:
            job = import_request(
                ecosystem=package.ecosystem,
                name=package.name,
                version="" if package.ecosystem == Ecosystem.LOCAL else package.version,
                settings=form.settings,
                user=request.user,
            )
        except DomainError as error:
            form.refuse(error)
        else:
            return redirect("registry:job_detail", job.pk)
    return _package_settings(request, package, form, status=422)


@login_required
@require_POST
def package_refresh(request: SignedInRequest, package_id: UUID) -> HttpResponse:
    """Import the newest version of a package and go to its progress."""
    package = package_visible_to(request.user, package_id)
    job = import_request(ecosystem=package.ecosystem, name=package.name, user=request.user)
    messages.info(request, f"Looking for the newest version of {package.name}.")
    return redirect("registry:job_detail", job.pk)


@login_required
@require_GET
def job_detail(request: SignedInRequest, job_id: UUID) -> HttpResponse:
    """Show how far an import is; the fragment asks for itself again until it is over."""
    job = job_visible_to(request.user, job_id)
    done = {entry["status"] for entry in job.report or ()}
    context = {"job": job, "is_open": job.status in OPEN, "done": done, "broken_only": {"broken"}}
    return render_page(request, "registry/job_detail.html", context, fragment="registry/_job.html")


@login_required
@require_POST
def job_again(request: SignedInRequest, job_id: UUID) -> HttpResponse:
    """Ask for the same import once more and go to its progress."""
    job = import_again(job_visible_to(request.user, job_id), user=request.user)
    return redirect("registry:job_detail", job.pk)


def _package_settings(
    request: SignedInRequest, package: Package, form: PythonSettingsForm, *, status: int = 200
) -> HttpResponse:
    context = {"package": package, "form": form}
    return render(request, "registry/package_settings.html", context, status=status)


def package_list_page(
    request: SignedInRequest,
    form: PackageImportForm,
    *,
    mcp_form: McpImportForm | None = None,
    openapi_form: OpenApiDocumentForm | None = None,
    upload_form: UploadForm | None = None,
    status: int = 200,
) -> HttpResponse:
    """Show the packages and all forms, as far as they were filled in."""
    q = clean_text(request.GET.get("q", "")).strip()[:LONGEST_QUERY]
    review = request.GET.get("review", "")
    page = CappedPaginator(
        packages_listed(request.user, q=q, review=review), PACKAGES_A_PAGE
    ).get_page(request.GET.get("page"))
    own = (
        (mcp_form, Ecosystem.MCP),
        (openapi_form, Ecosystem.OPENAPI),
        (upload_form, Ecosystem.UPLOAD),
    )
    tried = next((ecosystem for filled, ecosystem in own if filled), None)
    context = {
        "page": page,
        "q": q,
        "review": review,
        "reviews": ReviewStatus.choices,
        "query": urlencode({name: text for name, text in (("q", q), ("review", review)) if text}),
        "form": form,
        "chosen": tried or form["ecosystem"].value() or Ecosystem.NPM,
        "mcp_form": mcp_form or McpImportForm(label_suffix="", prefix="mcp"),
        "openapi_form": openapi_form or OpenApiDocumentForm(label_suffix="", prefix="openapi"),
        "upload_form": upload_form or UploadForm(),
        "sees_sync": sees_sync(request.user),
        "open_jobs": open_imports(request.user)[:NOTICES_SHOWN],
        "failed_jobs": failed_imports(request.user)[:NOTICES_SHOWN],
    }
    return render(request, "registry/package_list.html", context, status=status)
