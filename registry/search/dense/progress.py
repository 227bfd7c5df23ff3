"""How far the vectors of all tools have come."""

from dataclasses import dataclass

from django.core.cache import cache
from django.db.models import Count, Q

from registry.models import ToolVector
from registry.search.dense.encoder import Encoder

PROBLEM_KEY = "embeddings:problem"
PROBLEM_SECONDS = 600


@dataclass(frozen=True, kw_only=True)
class VectorProgress:
    """How many tools have a vector of the present encoder, and how many wait for it.

    `refused` are those whose text it does not take; `problem` is its last failure of late.
    """

    encoder: str
    stored: int
    waiting: int
    refused: int
    problem: str = ""

    @property
    def total(self) -> int:
        """Return how many tools there are."""
        return self.stored + self.waiting + self.refused

    @property
    def percent(self) -> int:
        """Return how much is done, in percent; 100 only when all of it is."""
        return 100 if not self.waiting else int(100 * (self.total - self.waiting) / self.total)


def vector_progress(encoder: Encoder) -> VectorProgress:
    """Return how far the vectors of an encoder have come."""
    waits = Q(due_at__isnull=False) | ~Q(encoder=encoder.name)
    counts = ToolVector.objects.aggregate(
        stored=Count("pk", filter=~waits & Q(vector__isnull=False)),
        refused=Count("pk", filter=~waits & Q(vector=None)),
        waiting=Count("pk", filter=waits),
    )
    return VectorProgress(encoder=encoder.name, problem=cache.get(PROBLEM_KEY, ""), **counts)


def problem_tell(problem: str) -> None:
    """Keep the last failure of the encoder for a while, or forget it."""
    if problem:
        cache.set(PROBLEM_KEY, problem[:500], timeout=PROBLEM_SECONDS)
    else:
        cache.delete(PROBLEM_KEY)
