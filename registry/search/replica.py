"""The searchable catalogue in memory: the engine's index, with the columns that filter it."""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from registry.search.columns import Columns, Mask, Masks
from registry.search.dense.vectors import Meaning
from registry.search.document import SearchDocument
from registry.search.engine import Engine, Ranked
from registry.search.explain import Explanation, explain
from registry.search.facts import Audience, Circumstances, Facts, Narrowing
from registry.search.names import Names, Texts
from registry.search.need import Need
from registry.search.similar import similar
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
    explanation: Explanation | None = None

    @property
    def id(self) -> str:
        """Return the id of the tool."""
        return self.ranked.id


class Replica:
    """What one process knows of all tools. Not safe for concurrent use with writes."""

    def __init__(
        self,
        engine: Engine | None = None,
        columns: Columns | None = None,
        names: Names | None = None,
    ) -> None:
        self.engine = engine or Engine()
        self.columns = columns or Columns()
        self.names = names or Names()

    def __len__(self) -> int:
        return len(self.engine)

    @classmethod
    def of(cls, documents: Iterable[SearchDocument], facts: Mapping[str, Facts]) -> "Replica":
        """Return a replica of documents, with the facts of each by its id."""
        engine, columns = Engine.build(documents), Columns()
        for tool_id in sorted(facts, key=engine.slot):
            columns.put(engine.slot(tool_id), facts[tool_id])
        names = Names()
        for document in documents:
            names.put(engine.slot(document.id), document)
        names.settle()
        return cls(engine, columns, names)

    @property
    def is_slack(self) -> bool:
        """Say whether so much has changed in it that it is worth being compacted."""
        return self.engine.slack > max(LEAST_SLACK, MOST_SLACK * len(self.engine))

    def compacted(self) -> "Replica":
        """Return the same without what is gone; it may be searched meanwhile, not written."""
        engine, slots = self.engine.compacted()
        columns, names = self.columns.moved(slots, engine.size), self.names.moved(slots)
        return Replica(engine, columns, names)

    def put(self, document: SearchDocument, facts: Facts) -> None:
        """Add a tool, or replace it; where its words are as they were, they stay as they are."""
        if document.id in self.engine:
            slot = self.engine.slot(document.id)
            if self.columns.text_of(slot) == facts.text:
                self.engine.set_merit(document)
                self.names.set_merit(slot, document)
                self.columns.put(slot, facts)
                return
            self.names.remove(slot)
        slot = self.engine.put(document)
        self.names.put(slot, document)
        self.columns.put(slot, facts)

    def remove(self, tool_id: str) -> None:
        """Take a tool out; do nothing when it is not there."""
        if tool_id in self.engine:
            self.names.remove(self.engine.slot(tool_id))
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
        meant: Meaning | None = None,
        explained: bool = False,
    ) -> list[Candidate]:
        """Return the best of what an audience may see, the best first.

        What would not help now is among it, to be told with the reason, and takes no place: where
        it leaves fewer than `wanted` that would, the others are ranked by themselves.
        """
        masks = self._masks(audience, narrowing, now, scopes)
        fit = self._without(masks.fit, exclude)

        def ranked(mask: Mask) -> list[Candidate]:
            look = self.engine.look(
                need,
                mask=mask,
                limit=most,
                weights=weights,
                vectors=None if meant is None else meant.vectors,
                query_vector=None if meant is None else meant.query,
            )
            if look is None:
                return []
            found = [
                Candidate(each, bool(fit[self.engine.slot(each.id)]))
                for each in self.engine.ranked(look, most)
            ]
            if not explained:
                return found
            told = explain(self.engine, look, most)
            return [each._replace(explanation=one) for each, one in zip(found, told, strict=True)]

        most = max(MOST_RANKED, wanted)
        candidates = ranked(masks.visible)
        unfit = [each for each in candidates if not each.fits]
        if not unfit or len(candidates) - len(unfit) >= wanted:
            return candidates
        return sorted([*ranked(fit), *unfit], key=lambda each: (-each.ranked.score, each.id))

    def called(self, name: str, audience: Audience, narrowing: Narrowing) -> list[str]:
        """Return the ids of the tools of a name or title."""
        return self.names.ids(self.names.called(name, self._visible(audience, narrowing)))

    def begun(self, text: str, audience: Audience, narrowing: Narrowing, limit: int) -> list[str]:
        """Return the ids of the best tools whose names have words that begin so."""
        mask = self._visible(audience, narrowing)
        return self.names.ids(self.names.begun(text, mask, limit))

    def texts(self, audience: Audience, narrowing: Narrowing) -> Texts:
        """Return what a pattern is held against; it may be kept."""
        return self.names.texts(self._visible(audience, narrowing))

    def like(self, document: SearchDocument, audience: Audience, limit: int) -> list[Ranked]:
        """Return the tools that would help and are the most like one, the nearest first."""
        masks = self._masks(audience, Narrowing(), datetime.now(tz=UTC), None)
        mask = self.engine.alive & self._without(masks.fit, [document.id])
        return similar(self.engine, document, mask, limit)

    def _visible(self, audience: Audience, narrowing: Narrowing) -> Mask:
        """Return what an audience may see, in good order or not; a tool that is gone is not."""
        now = datetime.now(tz=UTC)
        return self.engine.alive & self._masks(audience, narrowing, now, None).visible

    def _masks(
        self,
        audience: Audience,
        narrowing: Narrowing,
        now: datetime,
        scopes: frozenset[str] | None,
    ) -> Masks:
        return self.columns.masks(
            audience,
            narrowing,
            Circumstances(today=now.date(), scopes=scopes),
            down_since=(now - UPSTREAM_REST).timestamp(),
        )

    def _without(self, mask: Mask, exclude: Collection[str]) -> Mask:
        slots = [self.engine.slot(tool_id) for tool_id in exclude if tool_id in self.engine]
        if not slots:
            return mask
        left = mask.copy()
        left[np.array(slots)] = False
        return left
