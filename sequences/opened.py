"""What the builder has before it: a draft, or the version of a tool that has none yet."""

import copy
from dataclasses import dataclass, replace
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from config.lib.errors import NotFound
from registry.history import version_seen_by
from registry.models import Tool
from registry.review.drafts import draft_of, tool_at
from sequences.forms.drafts import Draft, draft_from_json
from sequences.forms.saved import draft_from_tool
from sequences.forms.settling import settled
from sequences.forms.step_tools import tools_in
from sequences.models import SequenceDraft
from sequences.selectors import sequence_owned_by


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A sequence as it is being edited.

    `tool` is None until it is published first; `edited` is the tool as its owner goes on with it.
    `row` is None where nothing was changed yet; then `revision` is 0. `base` is the version that
    the draft began from, `current` the newest one, both 0 where there is none. `follows` says that
    `draft` is a newer version than the row's, which has no changes of its own.
    """

    tool: Tool | None
    edited: Tool | None
    row: SequenceDraft | None
    draft: Draft
    base: int
    current: int
    follows: bool = False

    @property
    def revision(self) -> int:
        """Return what whoever saves has to name."""
        return self.row.revision if self.row else 0

    @property
    def newer(self) -> int:
        """Return the number of a version that was published since the draft began; else 0."""
        return self.current if self.current > self.base else 0

    @property
    def has_changes(self) -> bool:
        """Tell whether there is anything to publish."""
        return self.tool is None or (
            self.row is not None and self.row.has_changes and not self.follows
        )

    def draft_copy(self) -> Draft:
        """Return the draft to be changed."""
        return copy.deepcopy(self.draft)

    def showing(self, draft: Draft) -> "Opened":
        """Return the same with another draft in its form."""
        return replace(self, draft=draft)

    def now(self, row: SequenceDraft, draft: Draft) -> "Opened":
        """Return the same after a change."""
        return replace(self, row=row, draft=draft, base=row.base_version, follows=False)


def opened_tool(user: User, tool_id: UUID, base: int | None = None) -> Opened:
    """Open one of a person's own sequences; raise NotFound.

    `base` is the version that a form was shown with, where it is sent back.
    """
    tool = sequence_owned_by(user, tool_id)
    row = SequenceDraft.objects.filter(tool=tool).select_related("updated_by").first()
    return _of_tool(user, tool, row, base)


def opened_draft(user: User, draft_id: UUID, base: int | None = None) -> Opened:
    """Open a draft that a person may edit; raise NotFound."""
    row = SequenceDraft.objects.filter(pk=draft_id).select_related("updated_by").first()
    if row is not None and row.tool_id is not None:
        return _of_tool(user, sequence_owned_by(user, row.tool_id), row, base)
    if row is None or row.owner_id != user.pk:
        raise NotFound("There is no such draft among yours.", "See your sequences.")
    draft = draft_from_json(row.document)
    return Opened(tool=None, edited=None, row=row, draft=draft, base=0, current=0)


def drafts_of(user: User) -> QuerySet[SequenceDraft]:
    """Return all drafts that a person may open: of sequences of theirs, published or not."""
    unpublished = Q(owner=user, tool=None)
    published = Q(tool__owner=user, tool__deleted_at=None)
    return SequenceDraft.objects.filter(unpublished | published).select_related("updated_by")


def unpublished_drafts(user: User) -> QuerySet[SequenceDraft]:
    """Return a person's drafts of sequences that were never published, the latest first."""
    return SequenceDraft.objects.filter(owner=user, tool=None).order_by("-updated_at", "pk")


@dataclass(frozen=True, kw_only=True)
class History:
    """What undo takes back and redo brings again, in words; None where there is nothing."""

    undo: str | None = None
    redo: str | None = None


def history_of(row: SequenceDraft | None) -> History:
    """Return where a draft stands among its states."""
    if row is None:
        return History()
    labels = dict(row.revisions.values_list("number", "label"))
    later = [number for number in labels if number > row.position]
    return History(
        undo=labels.get(row.position, "") if min(labels, default=0) < row.position else None,
        redo=labels[min(later)] if later else None,
    )


def published_draft(opened: Opened) -> Draft | None:
    """Return what the version says that a draft began from; None where there is none."""
    row = opened.row
    if row is None or opened.follows:
        return opened.draft if opened.tool else None
    if not row.published_position:
        return None
    state = row.revisions.filter(number=row.published_position).first()
    return draft_from_json(state.document) if state else None


def draft_at_version(user: User, tool: Tool, number: int) -> Draft:
    """Return a version of a sequence as a draft; `tool` is it as its owner goes on with it."""
    then = tool if number == tool.version else tool_at(tool, version_seen_by(user, tool, number))
    chosen = tools_in(user, then.definition or {})
    draft = draft_from_tool(then, chosen)
    settled(draft, chosen)
    return draft


def _of_tool(user: User, tool: Tool, row: SequenceDraft | None, base: int | None) -> Opened:
    edited = draft_of(tool)
    current = edited.version
    if row is not None:
        follows = not row.has_changes and current > row.base_version != base
        draft = (
            draft_at_version(user, edited, current) if follows else draft_from_json(row.document)
        )
        shown = current if follows else row.base_version
    else:
        follows = False
        shown = base if base and 0 < base < current else current
        draft = draft_at_version(user, edited, shown)
    return Opened(
        tool=tool,
        edited=edited,
        row=row,
        draft=draft,
        base=shown,
        current=current,
        follows=follows,
    )
