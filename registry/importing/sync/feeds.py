"""The feeds, and who looks through which at the moment."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from celery import current_app
from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from kombu.exceptions import OperationalError

from config.lib.errors import InvalidInput, NotAllowed
from registry.importing.access import reviews_packages
from registry.importing.errors import QueueUnavailable
from registry.models import SyncFeed
from registry.models.sync import SyncKind

CHANGEABLE = ("enabled", "every_minutes", "most_per_run")
TASK = "registry.sync_packages"
KEYWORD = "tpmjs"
_KEYWORD = re.compile(r"[^\s:,]{1,100}")

LEASE = timedelta(minutes=15)
"""For how long a feed belongs to the worker that took it; renewed with each page. A page of
packages that are here is looked up within it, even where each waits for a slow index."""


def feeds_ensure() -> None:
    """Make the two feeds there always are; they are off, but for a keyword of the environment."""
    wanted = settings.SYNC_KEYWORD
    SyncFeed.objects.get_or_create(
        kind=SyncKind.KNOWN, keyword="", defaults={"enabled": bool(wanted)}
    )
    SyncFeed.objects.get_or_create(
        kind=SyncKind.KEYWORD, keyword=wanted or KEYWORD, defaults={"enabled": bool(wanted)}
    )


def require_keyword(keyword: str) -> None:
    """Raise ValueError, with words for people, for what cannot be a keyword of npm's."""
    if not _KEYWORD.fullmatch(keyword):
        raise ValueError(f"“{keyword[:80]}” is not a keyword: use one word, such as tpmjs.")


def feed_named(keyword: str) -> SyncFeed:
    """Return the feed of a keyword, or with none the one of what is here; made where it is not."""
    kind = SyncKind.KEYWORD if keyword else SyncKind.KNOWN
    if keyword:
        try:
            require_keyword(keyword)
        except ValueError as error:
            raise InvalidInput(str(error)) from error
    return SyncFeed.objects.get_or_create(kind=kind, keyword=keyword)[0]


@transaction.atomic
def feed_lease() -> SyncFeed | None:
    """Take a feed that is due; nobody else gets it before `LEASE` is over."""
    now = timezone.now()
    planned = Q(enabled=True) & (Q(next_at=None) | Q(next_at__lte=now))
    feed = (
        SyncFeed.objects.select_for_update(skip_locked=True)
        .filter(planned | Q(asked=True))
        .filter(Q(leased_until=None) | Q(leased_until__lte=now))
        .order_by(F("next_at").asc(nulls_first=True), "pk")
        .first()
    )
    if feed is not None:
        feed.leased_until = now + LEASE
        feed.save(update_fields=["leased_until"])
    return feed


def feed_ask(feed: SyncFeed, *, user: User | None) -> None:
    """Have a feed looked through as soon as a worker is free, also where it is off.

    Raises NotAllowed and QueueUnavailable.
    """
    if user is not None and not reviews_packages(user):
        raise NotAllowed("Only a reviewer has registries looked through.", "Ask a reviewer.")
    SyncFeed.objects.filter(pk=feed.pk).update(asked=True)
    transaction.on_commit(_enqueue)


@transaction.atomic
def feed_change(feed: SyncFeed, changes: Mapping[str, Any], *, by: User) -> SyncFeed:
    """Change whether, how often and how much is looked through; what for stays as it is.

    `changes` are some of `CHANGEABLE`. One that is turned on is looked through soon. Raises
    NotAllowed, and InvalidInput for values that cannot be.
    """
    if not by.has_perm("registry.change_syncfeed"):
        raise NotAllowed("Only a governor changes what is looked through.", "Ask a governor.")
    feed = SyncFeed.objects.select_for_update().get(pk=feed.pk)
    changed = [
        name for name in CHANGEABLE if name in changes and changes[name] != getattr(feed, name)
    ]
    for name in changed:
        setattr(feed, name, changes[name])
    if "enabled" in changed and feed.enabled:
        feed.next_at = None
    try:
        feed.clean_fields()
    except ValidationError as error:
        problems = [{"path": f"$.{k}", "message": v[0]} for k, v in error.message_dict.items()]
        raise InvalidInput("The feed cannot be so.", problems=problems) from error
    if changed:
        feed.save()
        told = "; ".join(f"{name}: {getattr(feed, name)}" for name in changed)
        LogEntry.objects.log_actions(by.pk, [feed], CHANGE, change_message=told, single_object=True)
    return feed


def _enqueue() -> None:
    try:
        current_app.send_task(TASK, retry=False)
    except OperationalError:
        raise QueueUnavailable(
            "The job queue cannot be reached; the look waits until it can."
        ) from None
