"""What search knows about a tool."""

from collections.abc import Iterable
from dataclasses import dataclass

from registry.search.tokens import tokenize


@dataclass(frozen=True, kw_only=True)
class SearchDocument:
    """One tool as the search index sees it.

    `parameters` are the names of its inputs, `examples` messages that it is for. `quality` is a
    share in 0–1, `downloads` the package's downloads of the last month, `health` 1 for a tool
    that is known to work, else 0; these three order equals and are no text.
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
    parameter_descriptions: tuple[str, ...] = ()
    returns: str = ""
    use_case: str = ""
    limitations: str = ""
    examples: tuple[str, ...] = ()
    quality: float = 0.0
    health: float = 0.0
    downloads: int = 0
    only_for: frozenset[int] = frozenset()

    def is_for(self, person: int | None) -> bool:
        """Say whether it may be among what is found for a person."""
        return not self.only_for or person in self.only_for


def terms_of(document: SearchDocument) -> tuple[list[str], ...]:
    """Return the terms of each text of the tool, in the order of `weights.FIELDS`.

    The title adds only terms that the name does not have, because most titles repeat the name
    and a name said twice ranks worse.
    """
    name = tokenize(document.name)
    title = [term for term in tokenize(document.title) if term not in name]
    return (
        [*name, *title],
        tokenize(document.description),
        tokenize(document.package),
        tokenize(document.category),
        tokenize(document.package_description),
        _tokens_of_all(document.parameters),
        _tokens_of_all(document.parameter_descriptions),
        tokenize(document.returns),
        tokenize(document.use_case),
        _tokens_of_all(document.examples),
    )


def _tokens_of_all(texts: Iterable[str]) -> list[str]:
    return [term for text in texts for term in tokenize(text)]
