"""Tools that people make: what everybody has, and beside it the draft that its owner goes on with.

A change of a public, approved tool is staged as a version that waits for review. Its owner edits
and tries that one; everybody else keeps what is live.
"""

from collections.abc import Collection
from copy import copy

from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction

from config.lib.changes import decided
from config.lib.errors import Conflict
from config.lib.jsontext import storable
from config.lib.numbers import whole_number
from config.lib.types import JsonObject, JsonSchema
from registry.history import version_seen_by
from registry.models import Proposal, Tool, ToolVersion
from registry.models.package import ReviewStatus
from registry.models.proposal import ProposalState
from registry.models.tool import Visibility
from registry.review.opening import proposal_supersede
from registry.review.staging import tool_announce, tool_propose
from registry.schemas import canonical_digest
from registry.services import free_wire_name, told_reason, tool_publish
from registry.specs import TOOL_FIELDS, snapshot_of

CONTINUED = (ProposalState.OPEN, ProposalState.REJECTED, ProposalState.QUARANTINED)
"""States of the newest proposal in which its owner goes on with what it proposed."""


def tool_write(
    tool: Tool,
    *,
    author: User,
    name: str,
    description: str,
    definition: JsonObject,
    input_schema: JsonSchema,
    visibility: str,
    team: Group | None,
    required_scopes: Collection[str] | None = None,
    output_schema: JsonSchema | None = None,
    reason: str = "",
) -> Tool:
    """Save what a person made of their own tool, checked before, as its next version.

    Of a tool that everybody uses the version waits for review, and what is live stays, unless it
    was approved before in just this form; a tool that becomes public waits itself. A narrower
    visibility holds at once. One in quarantine stays there. Scopes, and an output schema, of None
    stay as they are.
    Returns the tool as it is for its owner. Raises Conflict where the name is taken.
    """
    told = told_reason(reason)
    with transaction.atomic(), decided(author, told):
        row = Tool.objects.select_for_update().get(pk=tool.pk) if tool.version else tool
        written = copy(row)
        written.title, written.description = name, description
        written.definition, written.input_schema = definition, storable(input_schema)
        written.timeout_seconds = tool.timeout_seconds
        if required_scopes is not None:
            written.required_scopes = sorted(set(required_scopes))
        if output_schema is not None:
            written.output_schema = storable(output_schema)
        public = Visibility.PUBLIC
        if _is_live(row) and visibility == public and _was_approved(row, written):
            return _write(row, written, author, told, known=True)
        if _is_live(row) and visibility == public:
            tool_propose(row, written, by=author, reason=told)
            return draft_of(row)
        became_public = visibility == public and row.visibility != public
        written.visibility, written.deleted_at = visibility, tool.deleted_at
        written.team = team if visibility == Visibility.TEAM else None
        written = _write(row, written, author, told, became_public=became_public)
        return written if tool.live_version else _taken_over(tool, written)


def _taken_over(tool: Tool, written: Tool) -> Tool:
    """Bring the very instance that was saved up to date, which callers go on with."""
    for field in Tool._meta.concrete_fields:
        setattr(tool, field.attname, getattr(written, field.attname))
    tool._state.adding = False
    return tool


def _is_live(row: Tool) -> bool:
    """Say whether others have the tool because a reviewer let them."""
    approved = row.review_status == ReviewStatus.APPROVED
    return row.version > 0 and row.visibility == Visibility.PUBLIC and approved


def _was_approved(row: Tool, written: Tool) -> bool:
    """Say whether a reviewer has approved an earlier version that says just this."""
    digest = _digest(written)
    barred = [*row.unreviewed_versions, *row.blocked_versions]
    same = ToolVersion.objects.filter(tool_id=row.pk, digest=digest).exclude(number__in=barred)
    return digest != _digest(row) and same.exists()


def _write(
    row: Tool,
    written: Tool,
    author: User,
    reason: str,
    *,
    became_public: bool = False,
    known: bool = False,
) -> Tool:
    """Publish a tool that only its owner and their team has, or what is `known` to review."""
    changed = not row.version or _digest(row) != _digest(written)
    if changed and not known and written.review_status != ReviewStatus.QUARANTINED:
        written.review_status = ReviewStatus.CANDIDATE
    if row.title != written.title:
        written.wire_name = free_wire_name(None, written.title, tool_id=written.pk)
    try:
        with transaction.atomic():
            tool_publish(written, author=author, reason=reason)
    except IntegrityError:
        raise Conflict(
            f"Somebody has just taken the name {written.wire_name}.", "Save again."
        ) from None
    if known or written.visibility != Visibility.PUBLIC:
        waiting = Proposal.objects.select_for_update().filter(
            tool=written, state=ProposalState.OPEN
        )
        for proposal in waiting:
            proposal_supersede(proposal)
    elif written.review_status != ReviewStatus.APPROVED and (changed or became_public):
        tool_announce(written, by=author)
    return written


def _digest(tool: Tool) -> str:
    return canonical_digest(snapshot_of(tool))


def saved_words(tool: Tool) -> str:
    """Say how a tool was saved that `tool_write` has returned."""
    told = f"{tool.title} is saved as version {tool.version}."
    if live := tool.live_version:
        return f"{told} It waits for review; everybody else has version {live} until then."
    if tool.visibility == Visibility.PUBLIC and tool.review_status != ReviewStatus.APPROVED:
        return f"{told} It waits for review; until then only you have it."
    return told


def draft_of(tool: Tool) -> Tool:
    """Return a user-made tool as its owner goes on with it, not to be saved.

    That is what waits for review or was refused last; where there is none, the tool as it is. The
    copy's `version` is the number of what it says.
    """
    newest = Proposal.objects.filter(tool=tool).order_by("-opened_at", "pk").first()
    if newest is None or newest.state not in CONTINUED or not newest.versions:
        return tool
    number = newest.versions[0]["number"]
    version = ToolVersion.objects.filter(tool=tool, number=number).first()
    return tool_at(tool, version) if version and number != tool.version else tool


def tool_at(tool: Tool, version: ToolVersion) -> Tool:
    """Return a copy of a tool as one of its versions says, not to be saved."""
    then = copy(tool)
    for name in TOOL_FIELDS:
        if name in version.snapshot:
            setattr(then, name, version.snapshot[name])
    then.version, then.live_version = version.number, tool.live_version or tool.version
    return then


def tool_as_asked(user: User, tool: Tool, number: str) -> Tool:
    """Return a visible tool as the version says that a form or an address names, not to be saved.

    Empty is the live one. Raises NotFound where there is no such version for this person.
    """
    if not number or number == str(tool.version):
        return tool
    return tool_at(tool, version_seen_by(user, tool, whole_number(number) or 0))
