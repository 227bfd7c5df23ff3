"""Comma-separated values."""

import csv
import io

from config.lib.types import JsonObject
from registry.builtins.definition import Builtin, guidance
from registry.builtins.shapes import choice, flag, integer, produced, record, text
from registry.errors import ToolInputRejected

MOST_COLUMNS = 500
MOST_CELLS = 20_000
"""Cells one answer may hold; short rows count in full, because they are filled up."""

NAME_LIMIT = 200
SNIFFED = 2_000
"""Characters that are looked at to find the delimiter."""

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}


def csv_parse(arguments: JsonObject) -> JsonObject:
    """Return the rows of `text`: as objects under their header, or as lists without one."""
    value = arguments["text"].removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    delimiter = _delimiter(value, arguments["delimiter"])
    try:
        reader = csv.reader(
            io.StringIO(value),
            delimiter=delimiter,
            skipinitialspace=f'{delimiter} "' in value,
        )
        rows = [row for row in reader if row]
    except csv.Error as problem:
        raise ToolInputRejected(
            f"The CSV could not be read: {problem}.", "Check its quotation marks."
        ) from None
    if rows and max(map(len, rows)) > MOST_COLUMNS:
        raise ToolInputRejected(
            f"A row has more than {MOST_COLUMNS} columns.", "Name the delimiter that is used."
        )
    header = rows.pop(0) if arguments["header"] and rows else []
    width = max([len(header), *map(len, rows)], default=0)
    names = _names(header, width) if header else []
    shown = rows[: int(arguments["limit"])]
    if len(shown) * width > MOST_CELLS:
        raise ToolInputRejected(
            f"{len(shown)} rows of {width} columns are more than {MOST_CELLS:,} cells.",
            f"Set limit to {MOST_CELLS // width} or less.",
        )
    return {
        "columns": names,
        "rows": [_record(names, row) if header else row for row in shown],
        "row_count": len(rows),
        "ragged_rows": sum(len(row) != (len(header) or width) for row in rows),
        "delimiter": delimiter,
    }


def _delimiter(value: str, wanted: str) -> str:
    if wanted != "auto":
        return DELIMITERS[wanted]
    try:
        found = csv.Sniffer().sniff(value[:SNIFFED], "".join(DELIMITERS.values()))
    except csv.Error:
        first = value.lstrip("\n").partition("\n")[0]
        return max(DELIMITERS.values(), key=first.count)
    return found.delimiter


def _names(header: list[str], width: int) -> list[str]:
    """Return `width` different names: empty ones numbered, repeated ones told apart."""
    given = [cell.strip()[:NAME_LIMIT] for cell in header] + [""] * (width - len(header))
    taken = set(given)
    names: dict[str, None] = {}
    for number, cell in enumerate(given, 1):
        name = base = cell or f"column_{number}"
        suffix = 2
        while name in names or (name != cell and name in taken):
            name, suffix = f"{base}_{suffix}", suffix + 1
        names[name] = None
    return list(names)


def _record(names: list[str], row: list[str]) -> JsonObject:
    return {name: row[n] if n < len(row) else None for n, name in enumerate(names)}


TOOLS = (
    Builtin(
        name="csv_parse",
        title="Parse CSV",
        description=(
            "Turn CSV (comma-, semicolon- or tab-separated values) into rows with named columns; "
            "finds the delimiter itself."
        ),
        category="data",
        input_schema=record(
            {
                "text": text("The CSV."),
                "delimiter": choice("What separates the columns.", ["auto", *DELIMITERS], "auto"),
                "header": flag("The first row names the columns.", True),
                "limit": integer("How many rows to return.", 1, 1_000, 200),
            },
            required=("text",),
        ),
        output_schema=record(
            {
                "columns": produced("array", "Names of the columns; empty without a header."),
                "rows": produced("array", "Objects by column name, or lists without a header."),
                "row_count": produced("integer", "How many rows there are in all."),
                "ragged_rows": produced("integer", "Rows with more or fewer cells than columns."),
                "delimiter": produced("string", "The delimiter that was used."),
            }
        ),
        ai_agent=guidance(
            "When the user gives a table as CSV or separated values and wants it read or as JSON.",
            "All values stay text; at most 1,000 rows are returned.",
            "Parse this CSV: name,age\\nAda,36",
            "Convert these semicolon separated values to JSON",
            "How many rows does this table have?",
        ),
        run=csv_parse,
    ),
)
