"""The tools that ship with the product. One module per family, each with a tuple `TOOLS`.

To add a tool, write its function and its `Builtin` in the family it belongs to. To add a family,
write a module with `TOOLS` and name it here.
"""

from collections.abc import Mapping

from registry.builtins import (
    calculator,
    chance,
    clock,
    dates,
    digests,
    encodings,
    json_checks,
    json_queries,
    patterns,
    tables,
    text_edits,
    text_measures,
    units,
)
from registry.builtins.definition import Builtin, collect

BUILTINS: Mapping[str, Builtin] = collect(
    (
        calculator,
        chance,
        clock,
        dates,
        digests,
        encodings,
        json_checks,
        json_queries,
        patterns,
        tables,
        text_edits,
        text_measures,
        units,
    )
)
"""Every built-in tool by its wire name; read-only."""

__all__ = ["BUILTINS", "Builtin"]
