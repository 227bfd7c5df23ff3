"""The history of a tool, and what changed between two versions of it."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from config.lib.errors import InvalidInput
from config.lib.http import SignedInRequest
from registry.differences import display_of, sides_of_snapshots
from registry.history import (
    compared,
    standing_in_words,
    tool_with_history,
    versions_seen_by,
)
from registry.models import Tool, ToolVersion

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
