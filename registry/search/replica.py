"""The searchable catalogue in memory: the engine's index, with the columns that filter it."""

from collections.abc import Collection, Iterable, Mapping
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

LEAST_SLACK = 1_000
"""Changes of the index that nobody minds."""

MOST_SLACK = 0.1
"""The share of changes above which a search is slower than it need be."""


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

    @classmethod
    def of(cls, documents: Iterable[SearchDocument], facts: Mapping[str, Facts]) -> "Replica":
        """Return a replica of documents, with the facts of each by its id."""
        engine, columns = Engine.build(documents), Columns()
        for tool_id in sorted(facts, key=engine.slot):
            columns.put(engine.slot(tool_id), facts[tool_id])
        return cls(engine, columns)

    @property
    def is_slack(self) -> bool:
        """Say whether so much has changed in it that it is worth being compacted."""
        return self.engine.slack > max(LEAST_SLACK, MOST_SLACK * len(self.engine))

    def compacted(self) -> "Replica":
        """Return the same without what is gone; it may be searched meanwhile, not written."""
        engine, slots = self.engine.compacted()
        return Replica(engine, self.columns.moved(slots, engine.size))

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
