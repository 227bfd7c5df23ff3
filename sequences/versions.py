"""The versions of a sequence: what they are called, and back into the draft."""

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from config.lib.errors import Conflict, InvalidInput, NotFound
from config.lib.jsontext import clean_text
from registry.history import version_seen_by
from registry.models import Tool
from sequences.drafts import draft_restart, draft_save
from sequences.models import VersionName
from sequences.opened import Opened, draft_at_version

LONGEST_NAME = 60


class NameTaken(Conflict):
    """Another version of the sequence has this name."""

    code = "version_name_taken"
    default_hint = "Choose another name, or take it from the other version first."


def names_of(tool: Tool) -> dict[int, str]:
    """Return the names of a sequence's versions by their numbers."""
    return dict(VersionName.objects.filter(tool=tool).values_list("number", "name"))


def version_name(tool: Tool, number: int, name: str, *, user: User) -> str:
    """Name a version of a sequence, an empty name takes it away; return the name as it is kept.

    Raises NotFound when there is no such version, InvalidInput for a name that is too long, and
    NameTaken.
    """
    version_seen_by(user, tool, number)
    name = " ".join(clean_text(name).split())
    if len(name) > LONGEST_NAME:
        raise InvalidInput(
            f"The name has {len(name)} characters; at most {LONGEST_NAME} fit.", "Say it shorter."
        )
    if not name:
        VersionName.objects.filter(tool=tool, number=number).delete()
        return ""
    try:
        with transaction.atomic():
            VersionName.objects.update_or_create(tool=tool, number=number, defaults={"name": name})
    except IntegrityError:
        raise NameTaken(f"Another version is called “{name}”.") from None
    return name


def draft_begin_anew(opened: Opened, *, user: User, revision: int) -> Opened:
    """Begin again from the newest version; undo leads back to what was. Raises as below."""
    tool = _published(opened)
    fresh = draft_at_version(user, tool, opened.current)
    return draft_restart(opened, fresh, user=user, revision=revision)


def version_to_draft(opened: Opened, number: int, *, user: User, revision: int) -> Opened:
    """Make the draft what a version says; undo leads back to what it was.

    Raises NotFound when there is no such version, and DraftConflict when the draft is another than
    `revision` by now.
    """
    tool = _published(opened)
    version_seen_by(user, tool, number)
    fresh = draft_at_version(user, tool, number)
    return draft_save(
        opened, fresh, user=user, revision=revision, label=f"Back to version {number}"
    )


def _published(opened: Opened) -> Tool:
    if opened.edited is None:
        raise NotFound("This draft was never published.", "Publish it first.")
    return opened.edited
