"""What tests of the followed index share: an index with a thread, and changes from elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone

from registry.search.deadline import Deadline
from registry.search.facts import Audience, Narrowing
from registry.search.index import SearchIndex
from registry.search.need import Need
from registry.search.shelf import Shelf


def elsewhere(act: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Do something on another database connection, as another process would; return its result."""
    results: list[Any] = []

    def run() -> None:
        try:
            with transaction.atomic():
                results.append(act(*args, **kwargs))
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results[0]


@contextmanager
def following(folder: Path | None = None) -> Iterator[SearchIndex]:
    """Give an index that is kept by a thread, and end it."""
    index = SearchIndex(follows=True, shelf=Shelf(folder) if folder else None)
    try:
        yield index
    finally:
        index.reset()


def found_in(index: SearchIndex, user: User, text: str) -> set[str]:
    """Return what the index itself would give, whatever the database says by now."""

    def rank(replica: Any) -> set[str]:
        now = timezone.now()
        teams = frozenset(user.groups.values_list("pk", flat=True))
        ranked = replica.rank(
            Need(text=text),
            Audience(person=user.pk, teams=teams),
            now=now,
            narrowing=Narrowing(),
            scopes=None,
            exclude=(),
            wanted=100,
        )
        return {each.id for each in ranked if each.fits}

    return index.using(rank, Deadline())
