"""The history of a tool: who may look at which version, and what changed between two."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from config.lib.errors import NotFound
from config.lib.ids import uuid_in
from config.lib.types import JsonObject
from registry.differences import Difference, differences
from registry.models import Tool, ToolVersion
from registry.models.package import ReviewStatus
from registry.models.tool import Visibility
from registry.selectors import is_made_by, tools_visible_to, versions_of

GOVERNING = ("registry.change_tool", "registry.change_package", "registry.view_proposal")
"""Who has one of these looks at every version of every tool."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two versions of a tool and what changed; `before` is None for the very first."""

    tool: Tool
    before: ToolVersion | None
    after: ToolVersion
    differences: list[Difference]

    @property
    def is_breaking(self) -> bool:
        """Say whether callers of the earlier one may fail."""
        return any(difference.is_breaking for difference in self.differences)


def governs_tools(user: User) -> bool:
    """Say whether a person looks after everybody's tools."""
    return any(user.has_perm(permission) for permission in GOVERNING)


def tool_with_history(user: User, tool_id: UUID) -> Tool:
    """Return a living tool whose history a person may read; raise NotFound.

    Those who govern read that of every tool, also of one that waits for its first approval.
    """
    tools = tools_visible_to(user)
    if governs_tools(user):
        tools = Tool.objects.filter(deleted_at=None).select_related("package", "owner", "team")
    tool = tools.filter(pk=tool_id).first()
    if tool is None:
        raise NotFound("There is no such tool, or you may not see it.", "Look in the catalogue.")
    return tool


def versions_seen_by(user: User, tool: Tool) -> QuerySet[ToolVersion]:
    """Return the versions of a visible tool that a person may look into, the newest first.

    What its maker tried before a public tool was approved, and what waits for review, is shown to
    the makers and to those who govern.
    """
    versions = versions_of(tool)
    if tool.visibility != Visibility.PUBLIC or is_made_by(user, tool) or governs_tools(user):
        return versions
    return versions.exclude(Q(number__in=tool.unreviewed_versions) & ~Q(number=tool.version))


def version_seen_by(user: User, tool: Tool, number: int) -> ToolVersion:
    """Return one version or raise NotFound."""
    version = None
    if 0 < number < 2**31:
        version = versions_seen_by(user, tool).filter(number=number).first()
    if version is None:
        raise NotFound(
            f"{tool.wire_name} has no version {number}, or you may not look at it.",
            "Choose one of the versions listed.",
        )
    return version


def standing_in_words(tool: Tool, version: ToolVersion) -> list[tuple[str, str]]:
    """Return how a version stands as `(badge state, words)`, each at most once."""
    told = [("info", "live")] if version.number == tool.version else []
    if version.number in tool.blocked_versions:
        return [*told, ("rejected", "refused")]
    if tool.visibility != Visibility.PUBLIC or version.number not in tool.unreviewed_versions:
        return told
    if version.number > tool.version or (told and tool.review_status == ReviewStatus.CANDIDATE):
        return [*told, ("candidate", "waits for review")]
    return [*told, ("", "never approved")]


def compared(user: User, tool: Tool, before: int, after: int) -> Comparison:
    """Compare two versions that a person may look at; version 0 is nothing at all.

    Raises NotFound when there is no such version.
    """
    then = version_seen_by(user, tool, before) if before else None
    now = version_seen_by(user, tool, after)
    old = then.snapshot if then else None
    names = names_of_tools(user, [old or {}, now.snapshot])
    return Comparison(
        tool=tool, before=then, after=now, differences=differences(old, now.snapshot, names=names)
    )


def names_of_tools(user: User, snapshots: Iterable[JsonObject]) -> dict[str, str]:
    """Return the wire names of the tools that steps of these snapshots call, by id."""
    called = {
        step.get("toolToRunId")
        for snapshot in snapshots
        for step in (snapshot.get("definition") or {}).get("steps", ())
    }
    ids = [identity for text in called if (identity := uuid_in(text))]
    if not ids:
        return {}
    tools = tools_visible_to(user).filter(pk__in=ids).values_list("pk", "wire_name")
    return {str(identity): name for identity, name in tools}
