"""What search knows about a tool, as weighted terms."""

from collections.abc import Iterable
from dataclasses import dataclass

from registry.search.tokens import tokenize

PACKAGE_WEIGHT = 1.5
CATEGORY_WEIGHT = 0.6
PACKAGE_DESCRIPTION_WEIGHT = 0.2
PARAMETERS_WEIGHT = 0.5
AI_AGENT_WEIGHT = 0.25
"""Measured on public tool-search sets, with name and description at 1. A guidance text
(`aiAgent`: use case, examples) says much, but a high weight blurs tools that are much alike."""


@dataclass(frozen=True, kw_only=True)
class SearchDocument:
    """One tool as the search index sees it.

    `parameters` are the names and descriptions of its inputs, `ai_agent` the texts of its
    guidance (use case, limitations, examples), `quality` a share in 0–1, `downloads` the
    package's downloads of the last month. The last two break ties only and are no text.
    `only_for` are the people who may find it; empty: whoever may use it.
    """

    id: str
    name: str
    title: str = ""
    description: str = ""
    category: str = ""
    package: str = ""
    package_description: str = ""
    parameters: tuple[str, ...] = ()
    ai_agent: tuple[str, ...] = ()
    quality: float = 0.0
    downloads: int = 0
    only_for: frozenset[int] = frozenset()

    def is_for(self, person: int | None) -> bool:
        """Say whether it may be among what is found for a person."""
        return not self.only_for or person in self.only_for


def weighted_terms(document: SearchDocument) -> dict[str, float]:
    """Return the document's terms, each with its weighted frequency (the tf of BM25).

    The title adds only terms that the name does not have, because most titles repeat the name
    and a name said twice ranks worse.
    """
    name = tokenize(document.name)
    title = [term for term in tokenize(document.title) if term not in name]
    terms: dict[str, float] = {}
    _add(terms, [*name, *title], 1.0)
    _add(terms, tokenize(document.description), 1.0)
    _add(terms, tokenize(document.package), PACKAGE_WEIGHT)
    _add(terms, tokenize(document.category), CATEGORY_WEIGHT)
    _add(terms, tokenize(document.package_description), PACKAGE_DESCRIPTION_WEIGHT)
    _add(terms, _tokens_of_all(document.parameters), PARAMETERS_WEIGHT)
    _add(terms, _tokens_of_all(document.ai_agent), AI_AGENT_WEIGHT)
    return terms


def _tokens_of_all(texts: Iterable[str]) -> list[str]:
    return [term for text in texts for term in tokenize(text)]


def _add(terms: dict[str, float], found: Iterable[str], weight: float) -> None:
    for term in found:
        terms[term] = terms.get(term, 0.0) + weight
