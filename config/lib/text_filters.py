"""What a list is narrowed by, read from an address and written into one."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import ClassVar, Self
from urllib.parse import urlencode

from config.lib.jsontext import clean_text

LONGEST_FILTER = 500


@dataclass(frozen=True, kw_only=True)
class TextFilters:
    """The filters of a list: texts, of which an empty one does not narrow.

    `orders` are the names of those that only say in which order the list stands.
    """

    orders: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the filters, as an address has them."""
        return tuple(field.name for field in fields(cls))

    @classmethod
    def of(cls, data: Mapping[str, str]) -> Self:
        """Read the filters from a query string; an unknown choice narrows to nothing."""
        texts = {name: clean_text(data.get(name, "")) for name in cls.names()}
        return cls(**{name: text.strip()[:LONGEST_FILTER] for name, text in texts.items()})

    def query(self, **changes: str) -> str:
        """Return these filters as a query string, some of them changed."""
        return urlencode({name: text for name, text in {**asdict(self), **changes}.items() if text})

    @property
    def narrow(self) -> bool:
        """Tell whether anything narrows the list."""
        return any(text for name, text in asdict(self).items() if name not in self.orders)
