"""What the tools of a package may reach: shown on its page, decided by a reviewer."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from config.lib.errors import InvalidInput
from config.lib.http import SignedInRequest
from registry.forms import PackageHostsForm
from registry.models import Package
from registry.network import hosts_asked, hosts_denied
from registry.selectors import package_visible_to
from registry.services import package_allow_hosts


def network_of(package: Package, user: User) -> dict[str, Any]:
    """Return what the part “Network” of a package's page shows."""
    initial = {"hosts": "\n".join(package.allowed_hosts)}
    return {
        "asked": hosts_asked(package),
        "denied": hosts_denied(package, user),
        "form": PackageHostsForm(initial=initial, label_suffix=""),
    }


@login_required
@require_POST
def package_hosts(request: SignedInRequest, package_id: UUID) -> HttpResponse:
    """Allow the hosts of the form, or one more host (`add`), from the next call on."""
    package = package_visible_to(request.user, package_id)
    added = request.POST.get("add")
    if added is not None:
        hosts = [*package.allowed_hosts, added]
        package_allow_hosts(package, hosts, by=request.user, reason="Allowed on its page.")
        return _done(request, package)
    form = PackageHostsForm(request.POST, label_suffix="")
    if form.is_valid():
        wanted, reason = form.cleaned_data["hosts"], form.cleaned_data["reason"]
        try:
            package_allow_hosts(package, wanted, by=request.user, reason=reason)
        except InvalidInput as error:
            form.add_error("hosts", error.message)
        else:
            return _done(request, package)
    context = {"package": package, "form": form}
    return render(request, "registry/package_hosts.html", context, status=422)


def _done(request: SignedInRequest, package: Package) -> HttpResponse:
    hosts = ", ".join(package.allowed_hosts)
    told = (
        f"From the next call on its tools may reach {hosts}." if hosts else "No network any more."
    )
    messages.success(request, told)
    return redirect("registry:package_detail", package.pk)
