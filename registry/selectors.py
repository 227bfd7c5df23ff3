"""What there is to see, and who may see it."""

import re
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.postgres.search import SearchQuery
from django.db.models import Q, QuerySet

from config.lib.errors import NotAllowed, NotFound
from config.lib.jsontext import shortened
from registry.models import ImportJob, Invocation, Package, Tool, ToolVersion
from registry.models.health import UNWELL, in_state
from registry.models.package import ReviewStatus
from registry.models.tool import NAMES, Visibility

LARGEST_INSIDE = 4_000
"""Bytes of arguments or output that are told of a call among those of a program."""

CALLS_READ = 50
"""Calls of a program that are read at a time."""

_WORD = re.compile(r"\w+")

BLOCKED = (ReviewStatus.REJECTED, ReviewStatus.QUARANTINED)

RUNS = Q(stopped_at=None) & (Q(package=None) | Q(package__stopped_at=None))
"""The condition that neither a tool nor its package is stopped."""

REFUSED = Q(review_status__in=BLOCKED) | Q(
    package__review_status__in=BLOCKED, package__isnull=False
)
"""The condition that review has refused a tool or its package."""


def approved() -> Q:
    """Return the condition that review lets everybody use a public tool."""
    return Q(review_status=ReviewStatus.APPROVED) & (
        Q(package=None) | Q(package__review_status=ReviewStatus.APPROVED)
    )


def tools_visible_to(user: User) -> QuerySet[Tool]:
    """Return the tools a person may see: own, shared by a team, public and approved.

    Who added a package sees its tools before it is approved, and a reviewer sees every public
    tool, to try them.
    """
    seen = _open_to(user)
    if user.has_perm("registry.change_package"):
        seen |= Q(visibility=Visibility.PUBLIC)
    return _living().filter(seen)


def is_made_by(user: User, tool: Tool) -> bool:
    """Say whether the tool, or its package, is this person's own."""
    return user.pk in (tool.owner_id, tool.package.added_by_id if tool.package else None)


def tools_usable_by(user: User) -> QuerySet[Tool]:
    """Return the tools that a person may link and be given: those of `tools_visible_to` that
    review has not refused and no governor has stopped, a reviewer no more than anybody else."""
    return _living().filter(_open_to(user)).exclude(REFUSED).filter(RUNS)


def tools_public() -> QuerySet[Tool]:
    """Return the tools that anybody may be told of: public, approved and not stopped."""
    public = Q(visibility=Visibility.PUBLIC) & approved()
    return _living().filter(public).exclude(REFUSED).filter(RUNS)


def tools_triable_by(user: User) -> QuerySet[Tool]:
    """Return the tools that a person may call directly: a reviewer, what waits for review too."""
    return tools_visible_to(user).exclude(REFUSED).filter(RUNS)


def _living() -> QuerySet[Tool]:
    return Tool.objects.filter(deleted_at=None).select_related(
        "package", "owner", "team", "successor"
    )


def _open_to(user: User) -> Q:
    return (
        Q(owner=user)
        | Q(package__added_by=user)
        | Q(visibility=Visibility.TEAM, team__in=user.groups.values("pk"))
        | (Q(visibility=Visibility.PUBLIC) & approved())
    )


def tools_named(tools: QuerySet[Tool], words: str) -> tuple[QuerySet[Tool], Q]:
    """Return the tools with their names as words, and the condition that they are named so.

    Each word has to begin one of the wire name or the title; the index knows them, as it does not
    know what stands in the middle of a word.
    """
    begun = " & ".join(f"{word}:*" for word in _WORD.findall(words.replace("_", " ")))
    if not begun:
        return tools, Q(pk=None)
    query = SearchQuery(begun, search_type="raw", config="simple")
    return tools.alias(names=NAMES), Q(names=query)


def tools_unwell(user: User) -> QuerySet[Tool]:
    """Return the visible tools that somebody has to look after: any state but well and untried."""
    return tools_visible_to(user).filter(in_state(UNWELL))


def tool_visible_to(user: User, tool_id: UUID) -> Tool:
    """Return one visible tool or raise NotFound."""
    tool = tools_visible_to(user).filter(pk=tool_id).first()
    if tool is None:
        raise tool_unseen()
    return tool


def tool_unseen() -> NotFound:
    """Return the error for a tool that is not there, or not for this person to know of."""
    return NotFound("There is no such tool, or you may not see it.", "Look in the catalogue.")


def tool_owned_by(user: User, tool_id: UUID) -> Tool:
    """Return one of a person's own tools or raise NotFound."""
    tool = (
        Tool.objects.filter(pk=tool_id, owner=user, deleted_at=None)
        .select_related("package", "owner", "team", "successor")
        .first()
    )
    if tool is None:
        raise NotFound(
            "There is no such tool among yours.", "Only the owner of a tool may change it."
        )
    return tool


def tool_governed_by(user: User, tool_id: UUID) -> Tool:
    """Return any living tool to a governor; raise NotAllowed, or NotFound where it is hidden."""
    if not user.has_perm("registry.change_tool"):
        tool_visible_to(user, tool_id)
        raise NotAllowed("Only a governor may do this.", "Ask a governor.")
    tools = Tool.objects.filter(pk=tool_id, deleted_at=None)
    tool = tools.select_related("package", "owner", "team").first()
    if tool is None:
        raise NotFound("There is no such tool.", "Look in the catalogue.")
    return tool


def package_governed_by(user: User, package_id: UUID) -> Package:
    """Return a package to a governor; raise NotAllowed, or NotFound where it is hidden."""
    package = package_visible_to(user, package_id)
    if not user.has_perm("registry.change_package"):
        raise NotAllowed("Only a governor stops a package.", "Ask a governor.")
    return package


def reads_packages(user: User) -> bool:
    """Tell whether a person sees all packages and imports, whatever their review says."""
    return user.has_perm("registry.view_package") or user.has_perm("registry.change_package")


def packages_visible_to(user: User) -> QuerySet[Package]:
    """Return approved packages, those a person added, and all of them to governance."""
    if reads_packages(user):
        return Package.objects.all()
    return Package.objects.filter(Q(review_status=ReviewStatus.APPROVED) | Q(added_by=user))


def package_visible_to(user: User, package_id: UUID) -> Package:
    """Return one visible package or raise NotFound."""
    package = packages_visible_to(user).filter(pk=package_id).first()
    if package is None:
        raise NotFound("There is no such package, or you may not see it.")
    return package


def jobs_visible_to(user: User) -> QuerySet[ImportJob]:
    """Return a person's own import jobs, and all of them to governance."""
    jobs = ImportJob.objects.select_related("package", "requested_by")
    return jobs if reads_packages(user) else jobs.filter(requested_by=user)


def job_visible_to(user: User, job_id: UUID) -> ImportJob:
    """Return one visible import job or raise NotFound."""
    job = jobs_visible_to(user).filter(pk=job_id).first()
    if job is None:
        raise NotFound("There is no such import.")
    return job


def versions_of(tool: Tool) -> QuerySet[ToolVersion]:
    """Return a tool's versions, newest first."""
    return tool.versions.select_related("author").order_by("-number", "pk")


def invocation_visible_to(
    user: User, invocation_id: UUID, *, agent: UUID | None = None
) -> Invocation:
    """Return one call that a person made, or any to governance; raise NotFound.

    With `agent` it is one of that agent's.
    """
    calls = Invocation.objects.select_related("tool__package", "user")
    if agent is not None:
        calls = calls.filter(agent_id=agent)
    if not user.has_perm("registry.view_invocation"):
        calls = calls.filter(user=user)
    call = calls.filter(pk=invocation_id).first()
    if call is None:
        raise NotFound("There is no such call, or you may not see it.")
    return call


def invocations_inside(invocation: Invocation) -> list[Invocation]:
    """Return the calls that a program made, in the order in which they ended.

    There may be hundreds, so what each was given and gave is told in short; its own page has all.
    """
    calls = Invocation.objects.filter(parent_id=invocation.pk).select_related("tool", "user")
    told = []
    for call in calls.order_by("created_at", "pk").iterator(CALLS_READ):
        call.arguments = shortened(call.arguments, LARGEST_INSIDE)
        call.output = shortened(call.output, LARGEST_INSIDE)
        told.append(call)
    return told


def invocations_of(tool: Tool, user: User) -> QuerySet[Invocation]:
    """Return the calls of a tool that a person may see: their own."""
    return Invocation.objects.filter(tool=tool, user=user).order_by("-created_at", "pk")


def artifacts_in_use() -> set[str]:
    """Return the artifacts that a package or any version of a tool refers to."""
    versions = ToolVersion.objects.values_list("snapshot__package__artifact", flat=True)
    packages = Package.objects.values_list("artifact", flat=True)
    return {artifact for artifact in (*versions.distinct(), *packages) if artifact}
