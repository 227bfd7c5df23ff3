"""Choose the few results that are given, of all that fit: different tools of different packages."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from registry.search.document import SearchDocument
from registry.search.folding import Described, folded, words_either_way, words_of

BEYOND_LIMIT = "enough tools found already"
ENOUGH_OF_PACKAGE = "enough of this package"
DUPLICATE = "the same as another result"
COPY_AT_HAND = "the same as a tool at hand"

_IDLE_WORDS = """
    ai agent agents api app client core helper js lib mcp node package plugin py python sdk server
    service tool toolkit tools utils
"""
_IDLE = frozenset(_IDLE_WORDS.split())


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """A candidate that fits.

    `is_own` says that the person made or linked it, `merit` is what makes one of several copies
    the better one, the weightiest first (quality, health, downloads), as many for each.
    """

    id: str
    described: Described
    is_own: bool = False
    merit: tuple[float, ...] = ()


def fitting_of(document: SearchDocument, *, is_own: bool = False) -> Fitting:
    """Return a tool of the index as a candidate."""
    described = Described(
        name=document.name,
        description=document.description,
        package=document.package,
        parameters=document.parameters,
    )
    merit = (document.quality, document.health, float(document.downloads))
    return Fitting(id=document.id, described=described, is_own=is_own, merit=merit)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What becomes of a candidate: `reason` says why it is not given, "" that it is.

    `duplicates` are the ids of others that are the same tool, the best first.
    """

    id: str
    reason: str = ""
    duplicates: tuple[str, ...] = field(default=())


def select(
    fitting: Sequence[Fitting],
    *,
    limit: int,
    per_package: int | None,
    text: str = "",
    fold: bool = True,
) -> list[Choice]:
    """Return what becomes of each candidate, in their order, the best first.

    Copies of one tool take one place, that of the best ranked; the best copy is given. A package
    gets `per_package` places, and those that no other package fills; all, where `text` names it.
    """
    groups = _groups(fitting, fold=fold)
    chosen = _chosen(groups, limit, per_package, text)
    reasons = {}
    for number, group in enumerate(groups):
        for each in group:
            reasons[each.id] = DUPLICATE
        reasons[group[0].id] = chosen[number]
    copies = {group[0].id: tuple(each.id for each in group[1:]) for group in groups}
    order = _order(fitting, groups)
    return [
        Choice(id=each, reason=reasons[each], duplicates=copies.get(each, ())) for each in order
    ]


def copies_of(standing: Sequence[Fitting], others: Sequence[Fitting]) -> frozenset[str]:
    """Return the ids of the others that are copies of what stands already."""
    firsts = folded([each.described for each in (*standing, *others)])[len(standing) :]
    copies = (each.id for each, first in zip(others, firsts, strict=True) if first < len(standing))
    return frozenset(copies)


def is_named(package: str, text: str) -> bool:
    """Say whether a text names a package: all words of its name that tell, or of its scope."""
    said = words_either_way(text)
    parts = ([word for word in words_of(part) if word not in _IDLE] for part in package.split("/"))
    return any(part and said.issuperset(part) for part in parts)


def _groups(fitting: Sequence[Fitting], *, fold: bool) -> list[list[Fitting]]:
    """Return the copies of each tool together, the best copy first, in the order of the ranking."""
    if not fold:
        return [[each] for each in fitting]
    groups: dict[int, list[Fitting]] = {}
    for first, each in zip(folded([item.described for item in fitting]), fitting, strict=True):
        groups.setdefault(first, []).append(each)
    return [sorted(group, key=_best_first) for group in groups.values()]


def _best_first(item: Fitting) -> tuple[object, ...]:
    return not item.is_own, tuple(-value for value in item.merit), item.id


def _chosen(
    groups: Sequence[Sequence[Fitting]], limit: int, per_package: int | None, text: str
) -> list[str]:
    """Return the reason of each group, "" where it is given."""
    reasons: list[str] = []
    taken: Counter[str] = Counter()
    places = limit
    for group in groups:
        package = group[0].described.package
        is_enough = (
            per_package is not None
            and package != ""
            and taken[package] >= per_package
            and not is_named(package, text)
        )
        reasons.append(BEYOND_LIMIT if places <= 0 else ENOUGH_OF_PACKAGE if is_enough else "")
        taken[package] += not reasons[-1]
        places -= not reasons[-1]
    for number in _waiting(reasons):
        if places <= 0:
            break
        reasons[number] = ""
        places -= 1
    return reasons


def _waiting(reasons: Sequence[str]) -> Iterator[int]:
    return (number for number, reason in enumerate(reasons) if reason == ENOUGH_OF_PACKAGE)


def _order(fitting: Sequence[Fitting], groups: Sequence[Sequence[Fitting]]) -> list[str]:
    """Return the ids as ranked, but the best copy of each tool in the place of the first."""
    best = {group[0].id: number for number, group in enumerate(groups)}
    number_of = {each.id: number for number, group in enumerate(groups) for each in group}
    rank = {each.id: place for place, each in enumerate(fitting)}
    first = [min(rank[each.id] for each in group) for group in groups]

    def place_of(fit: str) -> tuple[int, int]:
        return (first[best[fit]], 0) if fit in best else (rank[fit], 1 + number_of[fit])

    return sorted(rank, key=place_of)
