"""What search knows about a tool."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from registry.search.tokens import tokenize


@dataclass(frozen=True, kw_only=True)
class SearchDocument:
    """One tool as the search index sees it.

    `parameters` are the names of its inputs, `examples` messages that it is for. `quality` is a
    share in 0–1, `downloads` the package's downloads of the last month, `health` 1 for a tool
    that is known to work, else 0; these three order equals and are no text.
    `wire_name` is what models call it by; it is looked up, not ranked.
    """

    id: str
    name: str
    wire_name: str = ""
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

    @property
    def text(self) -> int:
        """Return a digest of all that is indexed of it: 64 bits, never 0."""
        said = [value for name, value in vars(self).items() if name not in _NO_TEXT]
        digest = blake2b(repr(said).encode(errors="surrogatepass"), digest_size=8)
        return int.from_bytes(digest.digest(), "big") or 1


_NO_TEXT = {"quality", "health", "downloads"}


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
