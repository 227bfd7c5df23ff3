"""What goes with a person who is deleted, and what keeps them."""

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_
from typing import Any

from django.contrib.auth.models import User
from django.db.models import CASCADE, PROTECT, Model, Q
from django.db.models.fields.reverse_related import ForeignObjectRel

MOST_COUNTED = 1_000
"""Rows of one kind that are counted: somebody may have made millions of calls."""


def people_locked(people: Iterable[User]) -> None:
    """Let nothing be made in the name of people until this transaction ends.

    What goes with them is locked before them, in the order of whoever starts a run for a schedule:
    neither waits for the other for ever.
    """
    keys = sorted(person.pk for person in people)
    for relation in _relations(CASCADE):
        rows = relation.related_model._base_manager.filter(**{f"{relation.field.name}__in": keys})
        list(rows.select_for_update().order_by("pk").values_list("pk", flat=True))
    list(User.objects.select_for_update().filter(pk__in=keys).order_by("pk"))


def kept_for(people: Iterable[User]) -> list[str]:
    """Return a line for each of these people who cannot be deleted, with what keeps them."""
    lines = []
    for person in people:
        kinds = [_counted(model, names, person) for model, names in _keeping().items()]
        if told := sorted(filter(None, kinds)):
            lines.append(f"{person.username}: {', '.join(told)}")
    return lines


def _keeping() -> dict[type[Model], list[str]]:
    """Return what is not deleted with a person, with its columns that name one."""
    columns: dict[type[Model], list[str]] = {}
    for relation in _relations(PROTECT):
        columns.setdefault(relation.related_model, []).append(relation.field.name)
    return columns


def _counted(model: type[Model], names: list[str], person: User) -> str:
    owned = reduce(or_, (Q(**{name: person}) for name in names))
    count = model._base_manager.filter(owned)[: MOST_COUNTED + 1].count()
    several = model._meta.verbose_name_plural
    if count > MOST_COUNTED:
        return f"more than {MOST_COUNTED:,} {several}"
    return f"{count:,} {model._meta.verbose_name if count == 1 else several}" if count else ""


def _relations(on_delete: Any) -> Iterator[ForeignObjectRel]:
    """Yield the relations of other rows to a person that treat their deletion so."""
    for field in User._meta.get_fields(include_hidden=True):
        if isinstance(field, ForeignObjectRel) and field.on_delete is on_delete:
            yield field
