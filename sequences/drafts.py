"""Drafts of sequences: saved with every change, taken back and forth, never overwritten unseen."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from config.lib.errors import Conflict, InvalidInput
from registry.models import Tool
from sequences.forms.changes import (
    Change,
    change_words,
    changes_between,
    same_but_for_view,
    size_of_draft,
)
from sequences.forms.drafts import Draft, draft_from_json, draft_to_json
from sequences.forms.settling import settled
from sequences.forms.step_tools import tools_of
from sequences.models import DraftRevision, SequenceDraft
from sequences.opened import Opened

MOST_KEPT = 200
"""States of a draft that undo goes back through."""
ONE_GO = timedelta(seconds=5)
"""Typing in one field without a longer pause than this is one change."""
LARGEST = 1_000_000
"""Characters of a draft as JSON."""
MOST_DRAFTS = 200
"""Drafts of one person that were never published."""


class DraftConflict(Conflict):
    """Somebody changed this draft meanwhile."""

    code = "draft_conflict"  # `extra.revision` is the present one; 0: there is none any more
    default_hint = "Take what it is now, or keep yours: both stay in the draft's history."

    def __init__(self, row: SequenceDraft | None) -> None:
        self.row = row
        super().__init__(revision=row.revision if row else 0)

    def says(self, draft: Draft) -> bool:
        """Tell whether the draft is this by now, so that nothing is to be chosen."""
        return self.row is not None and same_but_for_view(draft_from_json(self.row.document), draft)


def draft_begin(owner: User, draft: Draft, *, label: str = "Started") -> SequenceDraft:
    """Keep a new draft of a sequence that is not published yet.

    Raises Conflict where the person has too many of them, and InvalidInput where it is too large.
    """
    if SequenceDraft.objects.filter(owner=owner, tool=None).count() >= MOST_DRAFTS:
        raise Conflict(
            f"You have {MOST_DRAFTS} drafts that were never published.",
            "Publish or discard some of them first.",
        )
    settled(draft, tools_of(owner, draft))
    _require_size(draft)
    return _begin(owner, draft, label=label)


def draft_save(
    opened: Opened, draft: Draft, *, user: User, revision: int, label: str = ""
) -> Opened:
    """Keep a change and return the draft as it then is; without a change it is as it was.

    `revision` is the one that the change began from. Raises DraftConflict when it is another by
    now, and InvalidInput where the draft is too large.
    """
    _require_size(draft)
    with transaction.atomic():
        row = locked(opened, revision)
        before = draft_from_json(row.document) if row and not opened.follows else opened.draft
        if same_but_for_view(before, draft):
            return _refold(opened, row, draft)
        if row is None:
            row = _first(opened, user)
        elif opened.follows:
            _follow(row, opened, user)
        changes = changes_between(before, draft)
        _write(row, draft, user, label=(label or change_words(changes))[:120], changes=changes)
    return opened.now(row, draft)


def draft_undo(opened: Opened, *, user: User, revision: int) -> Opened:
    """Go back to the state before this one; where there is none nothing changes."""
    return _go(opened, user, revision, back=True)


def draft_redo(opened: Opened, *, user: User, revision: int) -> Opened:
    """Go forward to the state that was undone last; where there is none nothing changes."""
    return _go(opened, user, revision, back=False)


def draft_restart(opened: Opened, fresh: Draft, *, user: User, revision: int) -> Opened:
    """Begin again from the version that is there now; undo still leads to what was."""
    with transaction.atomic():
        row = locked(opened, revision)
        if row is None:
            return opened
        label = f"Started again from version {opened.current}"
        _write(row, fresh, user, label=label)
        row.base_version, row.published_position = opened.current, row.position
        row.save(update_fields=["base_version", "published_position"])
    return opened.now(row, fresh)


def draft_rebase(opened: Opened, *, revision: int) -> Opened:
    """Go on with the draft in the knowledge of the newer version, which it then replaces."""
    with transaction.atomic():
        row = locked(opened, revision)
        if row is None:
            return opened
        row.base_version, row.published_position = opened.current, 0
        row.revision += 1
        row.save(update_fields=["base_version", "published_position", "revision"])
    return opened.now(row, opened.draft)


def draft_set_aside(opened: Opened, mine: Draft, *, user: User, revision: int) -> Opened:
    """Keep one's own version of a conflict in the history, and go on with the other's."""
    theirs = opened.draft
    kept = draft_save(opened, mine, user=user, revision=revision, label="Yours, set aside")
    return draft_save(kept, theirs, user=user, revision=kept.revision, label="Took theirs")


def draft_discard(opened: Opened) -> None:
    """Delete a draft that was never published; raise Conflict for that of a published sequence."""
    if opened.tool is not None:
        raise Conflict(
            "This is the draft of a sequence that is published.",
            "Start again from its version, or delete the sequence.",
        )
    if opened.row is not None:
        opened.row.delete()


def draft_published(row: SequenceDraft, tool: Tool, version: int) -> None:
    """Note that a draft is what a version says; its note on the version is used up."""
    draft = draft_from_json(row.document)
    draft.reason = ""
    row.document, row.tool = draft_to_json(draft), tool
    row.base_version, row.published_position = version, row.position
    row.revision += 1
    row.save()
    row.revisions.filter(number=row.position).update(document=row.document)


def draft_kept(opened: Opened, *, user: User) -> SequenceDraft:
    """Return the row of a draft, made if nothing was changed yet: tests are kept with it."""
    return opened.row or _first(opened, user)


def locked(opened: Opened, revision: int) -> SequenceDraft | None:
    """Return the draft's row, locked until the transaction ends; raise DraftConflict."""
    if opened.row is None:
        if revision:
            raise DraftConflict(None)
        return None
    row = SequenceDraft.objects.select_for_update().filter(pk=opened.row.pk).first()
    if row is None or row.revision != revision:
        raise DraftConflict(row)
    return row


def _begin(
    owner: User, draft: Draft, *, label: str, tool: Tool | None = None, version: int = 0
) -> SequenceDraft:
    document = draft_to_json(draft)
    with transaction.atomic():
        row = SequenceDraft.objects.create(
            owner=owner,
            tool=tool,
            base_version=version,
            document=document,
            published_position=1 if version else 0,
            updated_by=owner,
        )
        row.revisions.create(number=1, document=document, label=label, author=owner)
    return row


def _first(opened: Opened, user: User) -> SequenceDraft:
    """Make the draft of a tool that had none, beginning with the version that was shown."""
    label = f"Version {opened.base}"
    try:
        with transaction.atomic():
            return _begin(user, opened.draft, label=label, tool=opened.tool, version=opened.base)
    except IntegrityError:
        row = SequenceDraft.objects.filter(tool=opened.tool).first()
        raise DraftConflict(row) from None


def _follow(row: SequenceDraft, opened: Opened, user: User) -> None:
    """Bring a draft without changes to the version that its form was shown with."""
    _write(row, opened.draft, user, label=f"Version {opened.base}")
    row.base_version, row.published_position = opened.base, row.position
    row.save(update_fields=["base_version", "published_position"])


def _refold(opened: Opened, row: SequenceDraft | None, draft: Draft) -> Opened:
    """Keep which steps are folded up: that is no change to undo, nor one that others hear of."""
    if row is not None and not opened.follows and row.document != draft_to_json(draft):
        row.document = draft_to_json(draft)
        row.save(update_fields=["document"])
        row.revisions.filter(number=row.position).update(document=row.document)
    return opened if row is None else opened.now(row, draft)


def _go(opened: Opened, user: User, revision: int, *, back: bool) -> Opened:
    with transaction.atomic():
        row = locked(opened, revision)
        if row is None:
            return opened
        states = row.revisions.order_by("-number" if back else "number")
        beyond = {"number__lt": row.position} if back else {"number__gt": row.position}
        state = states.filter(**beyond).first()
        if state is None:
            return opened
        row.position, row.document = state.number, state.document
        row.revision += 1
        row.updated_by = user
        row.save()
    return opened.now(row, draft_from_json(row.document))


def _write(
    row: SequenceDraft, draft: Draft, user: User, *, label: str, changes: list[Change] | None = None
) -> None:
    """Put a new state behind the present one; what was undone is gone then."""
    document = draft_to_json(draft)
    row.revisions.filter(number__gt=row.position).delete()
    head = row.revisions.filter(number=row.position).first()
    if head is not None and _is_one_go(row, head, user, label, changes):
        head.document, head.created_at = document, timezone.now()
        head.save(update_fields=["document", "created_at"])
    else:
        row.position += 1
        row.revisions.create(number=row.position, document=document, label=label, author=user)
        old = row.revisions.filter(number__lte=row.position - MOST_KEPT)
        old.exclude(number=row.published_position).delete()
    row.document, row.updated_by = document, user
    row.revision += 1
    row.save()


def _is_one_go(
    row: SequenceDraft,
    head: DraftRevision,
    user: User,
    label: str,
    changes: list[Change] | None,
) -> bool:
    return (
        changes is not None
        and len(changes) == 1
        and changes[0].typed
        and head.label == label
        and head.author_id == user.pk
        and row.position != row.published_position
        and timezone.now() - head.created_at < ONE_GO
    )


def _require_size(draft: Draft) -> None:
    if (size := size_of_draft(draft)) > LARGEST:
        raise InvalidInput(
            f"The sequence has {size:,} characters; at most {LARGEST:,} fit.",
            "Shorten its texts, or take steps out into a sequence of their own.",
        )
