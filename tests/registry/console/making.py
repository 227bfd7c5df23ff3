"""People of governance, and proposals that wait for them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Permission, User

from registry.models import Package, Proposal
from registry.models.proposal import Cause
from tests.factories import make_user

READS = (
    *("view_proposal", "view_package", "view_tool", "view_toolversion", "view_invocation"),
    "view_importjob",
)
DECIDES = (*READS, "change_proposal", "change_package", "change_tool")


def make_staff(name: str, *codenames: str) -> User:
    """Make a person of the console with these permissions of the registry."""
    person = make_user(name, is_staff=True)
    permissions = Permission.objects.filter(
        content_type__app_label="registry", codename__in=codenames
    )
    person.user_permissions.set(permissions)
    return person


def finding(code: str, severity: str, *, introduced: bool = True, path: str = "") -> dict[str, Any]:
    """Return a finding as scans leave it."""
    return {
        "code": code,
        "path": path,
        "message": f"What {code} found.",
        "severity": severity,
        "introduced": introduced,
    }


def make_proposal(package: Package, **fields: Any) -> Proposal:
    """Make an open proposal about a package."""
    values = {"cause": Cause.SYNC, "digest": "d" * 64, "after": {"version": package.version}}
    return Proposal.objects.create(package=package, **{**values, **fields})
