"""Which weights the ranking takes: those that governors saved last."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import cast

from django.contrib.auth.models import User

from config.lib.errors import NotFound
from registry.changes import Follower, feed
from registry.models import SearchWeights
from registry.models.triggers import WEIGHTS_CHANNEL
from registry.search.weights import Weights

PRODUCTS_OWN = 0
"""The version of the weights that the product brings, in force until governors decide."""

MOST_TOLD = 200
"""Decisions that a history tells of."""


@dataclass(frozen=True, kw_only=True)
class Decided:
    """Weights as they were decided on; the product's own have neither reason, person nor time."""

    version: int
    weights: Weights
    reason: str = ""
    by: User | None = None
    at: datetime | None = None
    restored_from: int | None = None


@dataclass(frozen=True, kw_only=True)
class Change:
    """One weight that differs between two decisions."""

    name: str
    before: float
    after: float


class _Current:
    """The newest decision, read once a process and again after each save anywhere."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._follower: Follower | None = None
        self._known: Decided | None = None
        self._stale = True

    def get(self) -> Decided:
        """Return the newest decision, without a query while nothing was saved."""
        known = self._known
        if known is not None and not self._stale:
            return known
        with self._lock:
            if self._follower is None:
                self._follower = feed.follow(WEIGHTS_CHANNEL, self.forget)
            # Before the read: what is saved while it runs makes it stale once more.
            self._stale = False
            try:
                self._known = _newest()
            except BaseException:
                self._stale = True
                raise
            return self._known

    def forget(self, _: str = "") -> None:
        """Have the next reader ask the database."""
        self._stale = True

    def reset(self) -> None:
        """Forget everything and let go of the feed."""
        with self._lock:
            follower, self._follower = self._follower, None
            self._known, self._stale = None, True
        if follower:
            feed.leave(follower)


_current = _Current()
weights_forget = _current.forget
reset = _current.reset


def weights_now() -> Decided:
    """Return the decision in force; a save anywhere is heard of within a second."""
    return _current.get()


def weights_history() -> list[Decided]:
    """Return the decisions, the newest first, and the product's own weights at the end."""
    rows = SearchWeights.objects.select_related("by").order_by("-version")[:MOST_TOLD]
    return [*map(decided_of, rows), Decided(version=PRODUCTS_OWN, weights=Weights())]


def weights_version(version: int) -> Decided:
    """Return one decision, or raise NotFound."""
    if version == PRODUCTS_OWN:
        return Decided(version=PRODUCTS_OWN, weights=Weights())
    row = SearchWeights.objects.select_related("by").filter(version=version).first()
    if row is None:
        raise NotFound(f"There is no version {version} of the weights.", "See their history.")
    return decided_of(row)


def changes_between(before: Weights, after: Weights) -> list[Change]:
    """Return the weights that differ, in the order in which they are told everywhere."""
    old, new = before.as_dict(), after.as_dict()
    return [
        Change(name=name, before=old[name], after=new[name])
        for name in old
        if old[name] != new[name]
    ]


def decided_of(row: SearchWeights) -> Decided:
    """Return what a row says; weights that it does not know yet are the product's own."""
    return Decided(
        version=row.version,
        weights=_of_any_release(row.values),
        reason=row.reason,
        by=row.by,
        at=row.created_at,
        restored_from=row.restored_from,
    )


def _newest() -> Decided:
    row = SearchWeights.objects.select_related("by").order_by("-version").first()
    return decided_of(row) if row else Decided(version=PRODUCTS_OWN, weights=Weights())


def _of_any_release(values: Mapping[str, object]) -> Weights:
    """Return weights of this release from those of any: a search must not fail over a name that
    is gone or a bound that moved."""
    own = Weights().as_dict()
    for name, value in values.items():
        if name not in own:
            continue
        try:
            Weights.of({**own, name: value})
        except ValueError:
            continue
        own[name] = cast(float, value)
    return Weights.of(own)
