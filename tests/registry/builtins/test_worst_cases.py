"""No argument that fits its schema may make a built-in tool fail in another way than it says."""

import faulthandler
from collections.abc import Iterator
from typing import Any

import pytest

from config.lib.types import JsonObject
from registry.builtins import BUILTINS
from registry.builtins.definition import Builtin
from registry.errors import ToolInputRejected
from registry.schemas import canonical_json, validate_arguments

HANGS_AFTER = 900
"""Seconds; only to end a run that would never end."""

PIECES = [
    "a", "9", "(", "[", '"', "\n", "\ud800", "🇫🇷", "\u0301", "\x00", ".", "=", "%f", "&#x0;",
    "9**", "(a+)+", "1e9", "a,", '",', "[@,@]|", "[[", '{"a":', "- ", "٣", "!", "M ", "m*",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _hang_guard() -> Iterator[None]:
    faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def nasty(shape: Any, piece: str, *, high: bool) -> Any:
    """Return the largest (or smallest) value that a part of an input schema admits."""
    if "enum" in shape:
        return shape["enum"][-1 if high else 0]
    match shape["type"]:
        case "string":
            longest = shape["maxLength"]
            return (piece * (longest // len(piece) + 1))[:longest]
        case "array":
            return [nasty(shape["items"], piece, high=high)] * shape["maxItems"]
        case "boolean":
            return high
        case "object":
            return {
                name: nasty(inner, piece, high=high) for name, inner in shape["properties"].items()
            }
        case _:
            return shape["maximum" if high else "minimum"]


@pytest.mark.parametrize("high", [True, False], ids=["most", "least"])
@pytest.mark.parametrize("piece", PIECES, ids=ascii)
@pytest.mark.parametrize("tool", BUILTINS.values(), ids=lambda tool: tool.name)
def test_the_worst_arguments_get_an_answer_or_a_refusal(
    tool: Builtin, piece: str, high: bool
) -> None:
    arguments: JsonObject = validate_arguments(
        tool.input_schema, nasty(tool.input_schema, piece, high=high)
    )
    try:
        answer = tool.run(arguments)
    except ToolInputRejected as refusal:
        assert len(refusal.message) < 2_000
    else:
        canonical_json(answer)
