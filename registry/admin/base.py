"""What the admins of the registry share."""

from typing import Any

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

from registry.models.package import ReviewStatus

MOST_COUNTED = 10_000


class CappedPaginator(Paginator[Any]):
    """Counts no further than the pages that anybody turns: records may be millions."""

    @cached_property
    def count(self) -> int:
        """Return the number of rows, or the most that are counted."""
        rows: Any = self.object_list
        return int(rows.order_by()[:MOST_COUNTED].count())


class ReadOnly:
    """For what the product itself writes: to be looked at, never added, changed or deleted."""

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class Reviewed(admin.ModelAdmin[Any]):
    """For what is reviewed here and made elsewhere: only what review decides can be changed."""

    actions: tuple[Any, ...] = ("approve", "reject", "quarantine")

    def review(self, item: Any, status: ReviewStatus) -> None:
        """Carry out a review."""
        raise NotImplementedError

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        self.review(obj, ReviewStatus(obj.review_status))

    @admin.action(description="Approve", permissions=["change"])
    def approve(self, request: HttpRequest, chosen: QuerySet[Any]) -> None:
        """Let everyone with access use them."""
        self._review_all(request, chosen, ReviewStatus.APPROVED)

    @admin.action(description="Reject", permissions=["change"])
    def reject(self, request: HttpRequest, chosen: QuerySet[Any]) -> None:
        """Let nobody use them, for good."""
        self._review_all(request, chosen, ReviewStatus.REJECTED)

    @admin.action(description="Quarantine", permissions=["change"])
    def quarantine(self, request: HttpRequest, chosen: QuerySet[Any]) -> None:
        """Let nobody use them for now."""
        self._review_all(request, chosen, ReviewStatus.QUARANTINED)

    def _review_all(
        self, request: HttpRequest, chosen: QuerySet[Any], status: ReviewStatus
    ) -> None:
        for item in chosen:
            self.review(item, status)
            self.log_change(request, item, f"Review: {status.label}")
        count = len(chosen)
        name = self.opts.verbose_name if count == 1 else self.opts.verbose_name_plural
        self.message_user(request, f"{count} {name} {status.label.lower()}.", messages.SUCCESS)
