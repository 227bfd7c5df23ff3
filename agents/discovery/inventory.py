"""Figures of the public list for people: which scopes its tools take most."""

from collections import Counter
from dataclasses import dataclass

from agents.discovery.audience import everybody
from agents.discovery.listing import page_of
from config.lib.paging import MOST_COUNTED

MOST_SCOPES = 20


@dataclass(frozen=True, kw_only=True)
class ScopeShare:
    """A scope, how many tools take it, and which part of all that were counted that is."""

    scope: str
    tools: int
    share: float


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """What strangers can find, in figures; of a long list its first tools are counted.

    `free` are those that take no scope, `is_capped` says that there are more tools.
    """

    total: int
    free: int
    scopes: list[ScopeShare]
    unique_scopes: int
    is_capped: bool


def public_inventory() -> Inventory:
    """Count the public tools by all the scopes that a call of them takes."""
    page = page_of(everybody(), limit=MOST_COUNTED)
    total = len(page.found)
    usage = Counter(scope for _, scopes in page.found for scope in scopes)
    most = sorted(usage.items(), key=lambda item: (-item[1], item[0]))[:MOST_SCOPES]
    return Inventory(
        total=total,
        free=sum(not scopes for _, scopes in page.found),
        scopes=[ScopeShare(scope=name, tools=n, share=n / total) for name, n in most],
        unique_scopes=len(usage),
        is_capped=bool(page.next),
    )
