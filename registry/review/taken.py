"""Read whose a tool's name already is."""

from collections.abc import Iterable

from registry.models import Package, Tool
from registry.models.package import ReviewStatus
from registry.review.names import bare

MOST_NAMES = 1_000


def names_taken(exports: Iterable[str], *, but: Package | None = None) -> dict[str, str]:
    """Return `{bare name: who has it}` for those names that approved tools of others have.

    One query, whatever the number of names.
    """
    asked = list(exports)[:MOST_NAMES]
    others = Tool.objects.filter(
        deleted_at=None, review_status=ReviewStatus.APPROVED, export_name__in=asked
    ).exclude(package=None)
    if but is not None:
        others = others.exclude(package=but)
    named = others.filter(package__review_status=ReviewStatus.APPROVED)
    rows = named.order_by("-wire_name").values_list("export_name", "package__name")[:MOST_NAMES]
    return {bare(export): f"{package}::{export}" for export, package in rows}
