"""What of a page is new, what is another version, and what was dealt with before."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone
from packaging.version import InvalidVersion, Version

from registry.importing.sync.sources import Found
from registry.models import Package, Proposal, SyncEntry
from registry.models.job import JobStatus
from registry.models.sync import EntryState

PASSING = frozenset(
    {
        *("registry_unreachable", "registry_limited", "registry_refused", "registry_odd"),
        *("sandbox_unavailable", "sandbox_busy", "queue_unavailable", "import_interrupted"),
        "storage_full",
    }
)
"""Errors of an import that say nothing of the package: it is tried again."""

RIPENING = timedelta(hours=6)
"""When to try again a version that is too new to be installed."""

TAMPERED = "The registry states another integrity for this version than the one imported here."


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One package of a page: an entry to write, or none where nothing is to be told."""

    found: Found
    state: EntryState | None = None
    previous: str = ""
    message: str = ""


def judge(page: Iterable[Found]) -> list[Judged]:
    """Judge each package of a page, in a fixed number of queries."""
    found = list({(item.ecosystem, item.name): item for item in page}.values())
    names = [item.name for item in found]
    packages = {
        (package.ecosystem, package.name): package
        for package in Package.objects.filter(name__in=names).only(
            "pk", "ecosystem", "name", "version", "integrity"
        )
    }
    proposed = set(
        Proposal.objects.filter(package__in=[package.pk for package in packages.values()])
        .values_list("package", "after__version")
        .order_by()
    )
    entries: dict[tuple[str, str], list[SyncEntry]] = {}
    known = SyncEntry.objects.filter(name__in=names).select_related("job")
    for entry in known.order_by("-created_at"):
        entries.setdefault((entry.ecosystem, entry.name), []).append(entry)
    return [
        _judged(
            item,
            packages.get(key := (item.ecosystem, item.name)),
            proposed,
            entries.get(key, []),
        )
        for item in found
    ]


def _judged(
    found: Found,
    package: Package | None,
    proposed: set[tuple[UUID, Any]],
    entries: list[SyncEntry],
) -> Judged:
    if found.error or not found.version:
        message = found.error or "The registry names no newest version."
        return _told_once(found, EntryState.FAILED, message, entries)
    same = [entry for entry in entries if entry.version == found.version]
    if package is None:
        if any(_dealt_with(entry, found) for entry in same):
            return Judged(found=found)
        return Judged(found=found, state=EntryState.WAITING, message=found.note)
    if _tampered(found, package) and not _told(entries, package.version, found.now):
        again = Found(
            ecosystem=found.ecosystem,
            name=found.name,
            version=package.version,
            integrity=found.now,
        )
        return Judged(
            found=again, state=EntryState.WAITING, previous=package.version, message=TAMPERED
        )
    handled = (
        found.version == package.version
        or is_older(found.version, package.version)
        or (package.pk, found.version) in proposed
        or any(_dealt_with(entry, found) for entry in same)
    )
    if not handled:
        return Judged(
            found=found,
            state=EntryState.WAITING,
            previous=package.version,
            message=found.note,
        )
    return _told_once(found, EntryState.NOTED, found.note, entries, previous=package.version)


def is_older(version: str, other: str) -> bool:
    """Tell whether a version comes before another; versions that cannot be compared do not."""
    try:
        return Version(version) < Version(other)
    except InvalidVersion:
        return False


def _tampered(found: Found, package: Package) -> bool:
    """Compare what the registry says of the version in use, in the same algorithm only."""
    kind, _, _ = found.now.partition("-")
    return (
        bool(found.now)
        and package.integrity.startswith(f"{kind}-")
        and (found.now != package.integrity)
    )


def _dealt_with(entry: SyncEntry, found: Found) -> bool:
    """Tell whether an entry of the same version needs no second one."""
    if entry.state not in (EntryState.WAITING, EntryState.IMPORTING, EntryState.SKIPPED):
        return False
    if found.integrity and entry.integrity and found.integrity != entry.integrity:
        return False
    job = entry.job
    if job is None or job.status != JobStatus.FAILED:
        return True
    code = (job.error or {}).get("code")
    if code == "version_too_new":
        return entry.created_at > timezone.now() - RIPENING
    return code not in PASSING


def _told(entries: list[SyncEntry], version: str, integrity: str) -> bool:
    return any(
        entry.version == version and entry.integrity == integrity and entry.message == TAMPERED
        for entry in entries
    )


def _told_once(
    found: Found,
    state: EntryState,
    message: str,
    entries: list[SyncEntry],
    *,
    previous: str = "",
) -> Judged:
    message = message[:600]
    told = any(entry.state == state and entry.message == message for entry in entries)
    if not message or (told and state == EntryState.NOTED):
        return Judged(found=found)
    return Judged(found=found, state=state, previous=previous, message=message)
