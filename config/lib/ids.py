"""Read ids out of texts that may be anything."""

from collections.abc import Iterable
from uuid import UUID


def uuid_in(text: object) -> UUID | None:
    """Return the UUID that a text is, or None where it is none."""
    try:
        return UUID(str(text))
    except ValueError:
        return None


def uuids_in(texts: Iterable[object]) -> list[UUID]:
    """Return the UUIDs among texts, in their order."""
    return [found for text in texts if (found := uuid_in(text))]
