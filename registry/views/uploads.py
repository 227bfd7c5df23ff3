"""The upload of Python modules."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from config.lib.errors import DomainError
from config.lib.http import SignedInRequest
from registry.forms import PackageImportForm
from registry.importing.access import reviews_packages
from registry.importing.errors import InvalidUpload, PackageNotYours
from registry.importing.jobs import upload_request
from registry.upload_forms import UploadForm
from registry.views.packages import package_list_page


@login_required
@require_http_methods(["GET", "POST"])
def package_upload(request: SignedInRequest) -> HttpResponse:
    """Keep an uploaded module, queue its import and go to its progress."""
    if request.method == "GET":
        return redirect("registry:package_list")
    form = UploadForm(request.POST, request.FILES)
    if form.is_valid():
        file = form.cleaned_data["file"]
        try:
            job = upload_request(
                file.read(),
                filename=file.name or "",
                name=form.cleaned_data["name"],
                settings=form.settings or None,
                user=request.user,
            )
        except (InvalidUpload, PackageNotYours) as error:
            form.add_error("file", f"{error.message} {error.hint}")
        except DomainError as error:
            form.refuse(error)
        else:
            return redirect("registry:job_detail", job.pk)
    return package_list_page(
        request,
        PackageImportForm(governs=reviews_packages(request.user)),
        upload_form=form,
        status=422,
    )
