"""The import of MCP servers."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from config.lib.errors import DomainError
from config.lib.http import SignedInRequest
from registry.forms import PackageImportForm
from registry.importing.access import reviews_packages
from registry.importing.jobs import import_request
from registry.importing.mcp_sources import name_for, request_of, settings_from
from registry.mcp_forms import McpImportForm
from registry.models.package import Ecosystem
from registry.views.packages import package_list_page


@login_required
@require_http_methods(["GET", "POST"])
def mcp_import(request: SignedInRequest) -> HttpResponse:
    """Queue the import of an MCP server and go to its progress."""
    if request.method == "GET":
        return redirect("registry:package_list")
    form = McpImportForm(request.POST, label_suffix="", prefix="mcp")
    if form.is_valid():
        given = form.cleaned_data
        try:
            settings, version = settings_from(
                given["server"],
                arguments=given["arguments"],
                bearer=given["bearer"],
                env=given["env"],
            )
            job = import_request(
                ecosystem=Ecosystem.MCP,
                name=given["name"] or name_for(request_of(settings).server),
                version=version,
                settings=settings,
                user=request.user,
            )
        except DomainError as error:
            form.add_error("server", f"{error.message} {error.hint}")
        else:
            return redirect("registry:job_detail", job.pk)
    return package_list_page(
        request,
        PackageImportForm(governs=reviews_packages(request.user)),
        mcp_form=form,
        status=422,
    )
