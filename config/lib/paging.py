"""Page through lists that may be very long without ever counting to their end."""

from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.utils.functional import cached_property

MOST_COUNTED = 1_000
"""Rows that are counted and can be paged to. Whoever looks further narrows the list instead."""


def counted(rows: QuerySet[Any]) -> int:
    """Count rows, but no further than one more than `MOST_COUNTED`."""
    return rows.order_by()[: MOST_COUNTED + 1].count()


class CappedPaginator(Paginator[Any]):
    """Django's paginator of a queryset, which counts no further than `MOST_COUNTED`."""

    @cached_property
    def found(self) -> int:
        """Return how many rows there are, one more than `MOST_COUNTED` at most."""
        return counted(self.object_list)  # type: ignore[arg-type]

    @cached_property
    def count(self) -> int:
        """Return how many rows can be paged to."""
        return min(self.found, MOST_COUNTED)

    @property
    def is_capped(self) -> bool:
        """Tell whether there are more rows than can be paged to."""
        return self.found > MOST_COUNTED
