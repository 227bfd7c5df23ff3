"""Go through every sealed value of every model: can it be opened, and with the newest key?"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from django.apps import apps
from django.db import models

from config.lib.sealing import (
    NotOpenedError,
    SealedField,
    has_newest_key,
    open_sealed,
    seal,
)

PAGE = 500
"""Rows that are read at a time."""


@dataclass(frozen=True)
class Sealed:
    """One sealed value, and the row and field that hold it."""

    row: models.Model
    field: str

    @property
    def sealed(self) -> bytes:
        """Return the value as it is stored."""
        return bytes(getattr(self.row, self.field))

    @property
    def name(self) -> str:
        """Say which value it is and whose, without the value."""
        return str(getattr(self.row, "sealed_name", f"{self.row._meta.label} {self.row.pk}"))

    def opens(self) -> bool:
        """Tell whether one of the present keys opens it."""
        try:
            open_sealed(self.sealed)
        except NotOpenedError:
            return False
        return True

    def renew(self) -> None:
        """Seal it with the newest key, unless it has been changed meanwhile."""
        rows = type(self.row)._default_manager.filter(
            **{"pk": self.row.pk, self.field: self.sealed}
        )
        rows.update(**{self.field: seal(open_sealed(self.sealed))})


@dataclass
class Rotation:
    """What a rotation did: how many it renewed or found done, and the names of the unreadable."""

    renewed: int = 0
    done_before: int = 0
    unreadable: list[str] = field(default_factory=list)


def sealed_count() -> int:
    """Return how many sealed values there are."""
    return sum(_rows(model, name).count() for model, name in _places())


def sealed_values() -> Iterator[Sealed]:
    """Yield every sealed value, model by model, in the order of their keys."""
    for model, name in _places():
        for row in _rows(model, name).order_by("pk").iterator(PAGE):
            yield Sealed(row, name)


def rotate(tell: Callable[[int], None] = lambda number: None) -> Rotation:
    """Seal every value with the newest key; `tell` gets the number of each value that was seen.

    What has the newest key already is left alone, so a rotation that was broken off is taken up
    by starting it again. One that no key opens is left as it is and named.
    """
    rotation = Rotation()
    for number, value in enumerate(sealed_values(), start=1):
        if has_newest_key(value.sealed):
            rotation.done_before += 1
        elif value.opens():
            value.renew()
            rotation.renewed += 1
        else:
            rotation.unreadable.append(value.name)
        tell(number)
    return rotation


def unreadable() -> list[str]:
    """Return the names of the values that no present key opens."""
    return [value.name for value in sealed_values() if not value.opens()]


def _places() -> Iterator[tuple[type[models.Model], str]]:
    for model in apps.get_models():
        for held in model._meta.concrete_fields:
            if isinstance(held, SealedField):
                yield model, held.name


def _rows(model: type[models.Model], name: str) -> "models.QuerySet[models.Model]":
    return model._default_manager.exclude(**{name: None})
