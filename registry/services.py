"""Every change of the registry."""

import contextlib
from functools import partial
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from registry.errors import ToolError
from registry.models import Package, Tool, ToolVersion
from registry.models.package import ReviewStatus
from registry.quality import quality_of
from registry.sandbox.client import sandbox
from registry.schemas import canonical_digest
from registry.selectors import BLOCKED
from registry.specs import snapshot_of
from registry.wire_names import wire_name


def free_wire_name(package: str | None, name: str, *, tool_id: UUID | None = None) -> str:
    """Return a wire name for `name` that no other living tool has."""
    others = Tool.objects.filter(deleted_at=None)
    if tool_id is not None:
        others = others.exclude(pk=tool_id)
    return wire_name(package, name, lambda candidate: others.filter(wire_name=candidate).exists())


@transaction.atomic
def tool_publish(tool: Tool, *, author: User | None, reason: str = "") -> ToolVersion:
    """Save a tool, and where its definition changed, as its next immutable version.

    Two editors who publish at once are kept apart by a lock on the tool's row.
    """
    if tool.version:
        Tool.objects.select_for_update().filter(pk=tool.pk).get()
    tool.quality = quality_of(tool)
    snapshot = snapshot_of(tool)
    digest = canonical_digest(snapshot)
    latest = ToolVersion.objects.filter(tool_id=tool.pk).order_by("-number").first()
    if latest is not None and latest.digest == digest:
        tool.version = latest.number
        tool.save()
        return latest
    tool.version = latest.number + 1 if latest else 1
    tool.save()
    return ToolVersion.objects.create(
        tool=tool,
        number=tool.version,
        digest=digest,
        snapshot=snapshot,
        author=author,
        reason=reason,
    )


def tool_delete(tool: Tool) -> None:
    """Take a tool out of the catalogue; its history stays, its wire name becomes free."""
    tool.deleted_at = timezone.now()
    tool.save(update_fields=["deleted_at", "updated_at"])


def tool_review(tool: Tool, *, status: ReviewStatus) -> None:
    """Approve, reject or quarantine a tool."""
    tool.review_status = status
    tool.save(update_fields=["review_status", "updated_at"])


def package_review(package: Package, *, status: ReviewStatus) -> None:
    """Approve, reject or quarantine a package and so all of its tools."""
    package.review_status = status
    package.save(update_fields=["review_status", "updated_at"])
    if status in BLOCKED and package.artifact:
        transaction.on_commit(partial(_forget, package.artifact))


def _forget(artifact: str) -> None:
    """End what the sandbox keeps ready of it; a service that is not there keeps nothing."""
    with contextlib.suppress(ToolError):
        sandbox().forget(artifact)
