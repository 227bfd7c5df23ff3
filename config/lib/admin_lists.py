"""Lists of the admin that stay quick however many rows there are."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from config.lib.paging import CappedPaginator


def named(words: str, **columns: QuerySet[Any]) -> Q:
    """Return the condition that a column leads to what is called so.

    `columns` are columns with the rows, at most one, that have this name; the first that has one
    counts, so that an index leads to what is found, in the order of the list.
    """
    for column, rows in columns.items():
        key = rows.order_by().values_list("pk", flat=True).first()
        if key is not None:
            return Q(**{column: key})
    return Q(pk=None)


class LongList(admin.ModelAdmin[Any]):
    """For an admin: counts no further than can be paged to, and orders by what is indexed alone.

    `search_fields` shows the box; what it finds says `searched`, which is to ask indexes.
    """

    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # each would count the whole table
    list_per_page = 50
    sortable_by = ()

    def searched(self, rows: QuerySet[Any], words: str) -> QuerySet[Any] | None:
        """Return the rows that a search finds; None: those that `search_fields` find."""
        return None

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return what a search finds; no row comes twice."""
        words = search_term.strip()
        found = self.searched(queryset, words) if words else queryset
        if found is not None:
            return found, False
        return super().get_search_results(request, queryset, search_term)
