"""Tables as CSV files that a spreadsheet opens without running anything."""

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

from django.http import HttpResponse
from django.utils.text import slugify

_DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a cell begins with that a spreadsheet may take for a formula."""

Cell = str | int | float | None


def csv_answer(name: str, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> HttpResponse:
    """Return a download of `name`.csv; texts that look like formulas are quoted by a `'`."""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    for row in rows:
        writer.writerow([_harmless(cell) for cell in row])
    answer = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{slugify(name) or "table"}.csv"'
    return answer


def _harmless(cell: Cell) -> Cell:
    if isinstance(cell, str) and cell.lstrip(" ").startswith(_DANGEROUS):
        return f"'{cell}"
    return cell
