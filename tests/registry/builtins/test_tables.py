"""Reading tables."""

import pytest

from config.lib.types import JsonObject
from registry.errors import ToolInputRejected
from tests.registry.builtins.calling import run


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("a,b\r1,2\r", [{"a": "1", "b": "2"}]),
        ("\ufeffa;b\r\n1;2", [{"a": "1", "b": "2"}]),
        ('a, b\n1, "x, y"', [{"a": "1", "b": "x, y"}]),
        ("a,b\n1", [{"a": "1", "b": None}]),
        ("column_2,\n1,2", [{"column_2": "1", "column_2_2": "2"}]),
        ("column_3,a\n1,2,3", [{"column_3": "1", "a": "2", "column_3_2": "3"}]),
        ("a,a,a_2\n1,2,3", [{"a": "1", "a_3": "2", "a_2": "3"}]),
    ],
)
def test_a_table_is_read(source: str, rows: list[JsonObject]) -> None:
    assert run("csv_parse", {"text": source})["rows"] == rows


@pytest.mark.parametrize(
    "source", ["," * 600, ("," * 400 + "\n") * 100, "\n".join(["," * 450, *["a"] * 900])]
)
def test_a_table_that_is_too_wide_or_too_large_is_refused(source: str) -> None:
    with pytest.raises(ToolInputRejected):
        run("csv_parse", {"text": source, "limit": 1_000})
