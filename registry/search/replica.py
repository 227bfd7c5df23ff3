"""The searchable catalogue in memory: the engine's index, with the columns that filter it."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np

from registry.search.columns import (
    Audience,
    Circumstances,
    Columns,
    Facts,
    Mask,
    Narrowing,
)
from registry.search.document import SearchDocument
from registry.search.engine import Engine, Ranked
from registry.search.need import Need
from registry.search.weights import Weights

MOST_RANKED = 100
"""How many of the best are told of."""

UPSTREAM_REST = timedelta(minutes=10)
"""For how long a tool is not offered after the service behind it did not answer."""

LEAST_WASTED = 1_000
"""Slots of documents that are gone that nobody minds."""


class Candidate(NamedTuple):
    """One of the best; `fits` says that nothing known of it speaks against giving it to a model."""

    ranked: Ranked
    fits: bool

    @property
    def id(self) -> str:
        """Return the id of the tool."""
        return self.ranked.id


class Replica:
    """What one process knows of all tools. Not safe for concurrent use with writes."""

    def __init__(self, engine: Engine | None = None, columns: Columns | None = None) -> None:
        self.engine = engine or Engine()
        self.columns = columns or Columns()

    def __len__(self) -> int:
        return len(self.engine)

    @property
    def is_wasteful(self) -> bool:
        """Say whether most of it belongs to documents that are gone."""
        gone = self.engine.size - len(self.engine)
        return gone > max(LEAST_WASTED, len(self.engine))

    def put(self, document: SearchDocument, facts: Facts) -> None:
        """Add a tool, or replace it; where its words are as they were, they stay as they are."""
        if document.id in self.engine:
            slot = self.engine.slot(document.id)
            if self.columns.text_of(slot) == facts.text:
                self.engine.set_merit(document)
                self.columns.put(slot, facts)
                return
        self.columns.put(self.engine.put(document), facts)

    def remove(self, tool_id: str) -> None:
        """Take a tool out; do nothing when it is not there."""
        self.engine.remove(tool_id)

    def rank(
        self,
        need: Need,
        audience: Audience,
        *,
        now: datetime,
        narrowing: Narrowing,
        scopes: frozenset[str] | None,
        exclude: Collection[str],
        wanted: int,
        weights: Weights | None = None,
    ) -> list[Candidate]:
        """Return the best of what an audience may see, the best first.

        What would not help now is among it, to be told with the reason, and takes no place: where
        it leaves fewer than `wanted` that would, the others are ranked by themselves.
        """
        masks = self.columns.masks(
            audience,
            narrowing,
            Circumstances(today=now.date(), scopes=scopes),
            down_since=(now - UPSTREAM_REST).timestamp(),
        )
        fit = self._without(masks.fit, exclude)

        def ranked(mask: Mask) -> list[Candidate]:
            found = self.engine.rank(need, mask=mask, limit=most, weights=weights)
            return [Candidate(each, bool(fit[self.engine.slot(each.id)])) for each in found]

        most = max(MOST_RANKED, wanted)
        candidates = ranked(masks.visible)
        unfit = [each for each in candidates if not each.fits]
        if not unfit or len(candidates) - len(unfit) >= wanted:
            return candidates
        return sorted([*ranked(fit), *unfit], key=lambda each: (-each.ranked.score, each.id))

    def _without(self, mask: Mask, exclude: Collection[str]) -> Mask:
        slots = [self.engine.slot(tool_id) for tool_id in exclude if tool_id in self.engine]
        if not slots:
            return mask
        left = mask.copy()
        left[np.array(slots)] = False
        return left
