"""What tools are filtered by, and who asks for what."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

BROKEN = frozenset({"import_broken", "execution_broken"})
WELL = frozenset({"healthy", "unknown"})
DOWN = "upstream_down"
_UNWELL = BROKEN | {DOWN, "needs_sign_in", "needs_key"}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is filtered by. `team` is 0 unless the tool is shared with it; nobody has the id 0.

    `is_open` says that everybody may find it. `state` is its `HealthState`, `down_at` when its
    service was last seen not to answer, in seconds since 1970. `text` is a digest of its words.
    """

    is_open: bool = True
    owner: int = 0
    adder: int = 0
    team: int = 0
    kind: str = ""
    category: str = ""
    package: str = ""
    state: str = "unknown"
    scopes: Sequence[str] = ()
    retired_on: date | None = None
    down_at: float = 0.0
    text: int = 0


@dataclass(frozen=True, kw_only=True)
class Audience:
    """Who searches: a person's id, and the teams that the person is in."""

    person: int
    teams: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Narrowing:
    """What is not searched at all; an empty text does not narrow.

    `health` is a `HealthState`, or `broken` or `unwell` for several of them.
    """

    kind: str = ""
    category: str = ""
    package: str = ""
    health: str = ""


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """What decides whether a tool that may be seen would help now; without `scopes`, all do."""

    today: date
    scopes: frozenset[str] | None = None


def states_named(health: str) -> frozenset[str]:
    """Return the states that a filter names, as `registry.models.health.in_state` does."""
    if health == "broken":
        return BROKEN
    if health == "unwell":
        return _UNWELL
    return frozenset({health}) & (_UNWELL | WELL)
