"""Tables as CSV files that a spreadsheet opens without running anything."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from itertools import chain, islice

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.text import slugify

from config.lib.streaming import download

_DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a cell begins with that a spreadsheet may take for a formula."""

MEDIA_TYPE = "text/csv; charset=utf-8"
ROWS_A_PART = 500

Cell = str | int | float | None


def csv_answer(name: str, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> HttpResponse:
    """Return a download of `name`.csv; texts that look like formulas are quoted by a `'`."""
    answer = HttpResponse(csv_lines(chain([header], rows)), content_type=MEDIA_TYPE)
    answer["Content-Disposition"] = f'attachment; filename="{slugify(name) or "table"}.csv"'
    return answer


def csv_download(
    request: HttpRequest, name: str, header: Sequence[str], rows: Iterable[Sequence[Cell]]
) -> StreamingHttpResponse:
    """Return a download as `csv_answer` does, whose rows are read while it is sent."""
    return download(request, _parts(header, rows), filename=f"{name}.csv", media_type=MEDIA_TYPE)


def csv_lines(rows: Iterable[Sequence[Cell]]) -> str:
    """Return rows as lines of CSV; texts that look like formulas are quoted by a `'`."""
    text = StringIO()
    csv.writer(text).writerows([_harmless(cell) for cell in row] for row in rows)
    return text.getvalue()


def _parts(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[bytes]:
    yield csv_lines([header]).encode()
    left = iter(rows)
    while part := list(islice(left, ROWS_A_PART)):
        yield csv_lines(part).encode()


def _harmless(cell: Cell) -> Cell:
    if isinstance(cell, str) and cell.lstrip(" ").startswith(_DANGEROUS):
        return f"'{cell}"
    return cell
