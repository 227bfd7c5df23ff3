"""Sum up what changed in one sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from registry.differences.found import Difference, Effect, Kind


@dataclass(frozen=True, kw_only=True)
class Summary:
    """How many differences there are of each sort; every difference is counted once."""

    breaking: int
    additions: int
    removals: int
    changes: int
    texts: int

    @property
    def sentence(self) -> str:
        """Return it in words: “2 breaking changes, 1 addition”."""
        counted = [
            (self.breaking, "breaking change", "breaking changes"),
            (self.additions, "addition", "additions"),
            (self.removals, "removal", "removals"),
            (self.changes, "compatible change", "compatible changes"),
            (self.texts, "change of text", "changes of text"),
        ]
        told = [f"{count} {one if count == 1 else many}" for count, one, many in counted if count]
        return ", ".join(told) or "No differences"


def summary_of(differences: Sequence[Difference]) -> Summary:
    """Count the differences."""
    compatible = [item.kind for item in differences if item.effect == Effect.COMPATIBLE]
    return Summary(
        breaking=sum(item.is_breaking for item in differences),
        additions=compatible.count(Kind.ADDED),
        removals=compatible.count(Kind.REMOVED),
        changes=compatible.count(Kind.CHANGED),
        texts=sum(item.effect == Effect.TEXT for item in differences),
    )
