"""The history of a tool, and what changed between two versions of it."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from config.lib.errors import DomainError, InvalidInput, NotAllowed
from config.lib.http import SignedInRequest
from registry.differences import display_of, sides_of_snapshots
from registry.history import (
    compared,
    standing_in_words,
    tool_with_history,
    versions_seen_by,
)
from registry.models import Tool, ToolVersion
from registry.restoring import (
    LONGEST_RESTORE_REASON,
    PackageThen,
    goes_with_package,
    may_restore,
    package_then,
    version_restore,
)
from registry.review.drafts import saved_words

VERSIONS_A_PAGE = 30


@dataclass(frozen=True, kw_only=True)
class Row:
    """One version in the history, and how it stands as `(state of the badge, words)`."""

    version: ToolVersion
    standing: list[tuple[str, str]]

    @property
    def earlier(self) -> int:
        """Return the number of the version before; 0 is nothing."""
        return self.version.number - 1


@login_required
@require_GET
def version_list(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show the history of a tool, the newest first, and compare the two that are chosen."""
    tool = tool_with_history(request.user, tool_id)
    if "from" in request.GET or "to" in request.GET:
        before, after = _chosen(request.GET, "from"), _chosen(request.GET, "to")
        return redirect("registry:version_diff", tool.pk, before, after)
    versions = versions_seen_by(request.user, tool)
    below = request.GET.get("below", "")
    if below.isdecimal() and len(below) < len(str(2**31)):
        versions = versions.filter(number__lt=int(below))
    shown = list(versions[: VERSIONS_A_PAGE + 1])
    rows = [
        Row(version=version, standing=standing_in_words(tool, version))
        for version in shown[:VERSIONS_A_PAGE]
    ]
    context = {
        "tool": tool,
        "may_restore": may_restore(request.user, tool),
        "rows": rows,
        "chosen": _suggested(tool, rows),
        "older": rows[-1].version.number if len(shown) > VERSIONS_A_PAGE else None,
        "is_first_page": not below,
    }
    return render(request, "registry/version_list.html", context)


@login_required
@require_GET
def version_diff(request: SignedInRequest, tool_id: UUID, before: int, after: int) -> HttpResponse:
    """Show what changed between two versions; 0 stands for nothing, before the first."""
    tool = tool_with_history(request.user, tool_id)
    comparison = compared(request.user, tool, before, after)
    then = comparison.before
    context = {
        "tool": tool,
        "may_restore": may_restore(request.user, tool),
        "comparison": comparison,
        "shown": display_of(comparison.differences),
        "sides": sides_of_snapshots(then.snapshot if then else None, comparison.after.snapshot),
        "standings": [
            (version, standing_in_words(tool, version))
            for version in (then, comparison.after)
            if version is not None
        ],
    }
    return render(request, "registry/version_diff.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def version_restore_page(request: SignedInRequest, tool_id: UUID, number: int) -> HttpResponse:
    """Show what going back to a version would change, and go back to it."""
    tool = tool_with_history(request.user, tool_id)
    if not may_restore(request.user, tool):
        raise NotAllowed(
            "Only its owner takes a tool back, and a reviewer one of a package.", "Ask one of them."
        )
    comparison = compared(request.user, tool, tool.version, number)
    error: DomainError | None = None
    reason = request.POST.get("reason", "")
    if request.method == "POST":
        try:
            restored = version_restore(tool, number, user=request.user, reason=reason)
        except DomainError as problem:
            error = problem
        else:
            messages.success(request, saved_words(restored))
            return redirect("registry:version_list", tool.pk)
    context = {
        "tool": tool,
        "number": number,
        "comparison": comparison,
        "shown": display_of(comparison.differences),
        "then": None if error else _package_then(comparison.after),
        "reason": reason,
        "longest_reason": LONGEST_RESTORE_REASON,
        "error": error,
    }
    return render(
        request, "registry/version_restore.html", context, status=error.status if error else 200
    )


def _package_then(version: ToolVersion) -> PackageThen | None:
    return package_then(version) if goes_with_package(version.tool) else None


def _chosen(sent: QueryDict, name: str) -> int:
    text = sent.get(name, "")
    if not text.isascii() or not text.isdecimal() or len(text) >= len(str(2**31)):
        raise InvalidInput(
            "Choose two versions to compare.", "Mark one under From and one under To."
        )
    return int(text)


def _suggested(tool: Tool, rows: list[Row]) -> tuple[int, int]:
    """Return the two versions that the form has marked: what is new against what is live."""
    newest = rows[0].version.number if rows else 0
    if newest > tool.version:
        return tool.version, newest
    return max(newest - 1, 1), newest
