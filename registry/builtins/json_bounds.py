"""Evaluate JMESPath within limits of time and memory.

A short query can ask for a great deal: each `| [@, @]` doubles what comes before it. What is built
is therefore weighed as if every part were written out, before the next step may use it.
"""

import math
import time
from typing import Any

from jmespath.functions import Functions, signature
from jmespath.visitor import Options, TreeInterpreter

from config.lib.types import JsonValue
from registry.errors import ToolInputRejected

SECONDS = 0.6
MAX_WEIGHT = 3_000_000
"""One for each character and ten for each value: some 300,000 values."""

VALUE_WEIGHT = 10


class BoundedInterpreter(TreeInterpreter):
    """Walks the parsed query; raises `ToolInputRejected` once it becomes too much."""

    def __init__(self) -> None:
        super().__init__(Options(custom_functions=_BoundedFunctions()))
        self.deadline = time.monotonic() + SECONDS

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        """Evaluate one node of the query."""
        if time.monotonic() > self.deadline:
            raise too_much()
        return super().visit(node, *args, **kwargs)

    def visit_multi_select_list(self, node: Any, value: JsonValue) -> Any:
        """Build `[a, b]`."""
        return weighed(super().visit_multi_select_list(node, value))

    def visit_multi_select_dict(self, node: Any, value: JsonValue) -> Any:
        """Build `{a: b}`."""
        return weighed(super().visit_multi_select_dict(node, value))

    def visit_function_expression(self, node: Any, value: JsonValue) -> Any:
        """Call a function of the query language."""
        return weighed(super().visit_function_expression(node, value))


class _BoundedFunctions(Functions):
    @signature({"types": ["string"]}, {"types": ["array-string"]})
    def _func_join(self, separator: str, array: list[str]) -> str:
        if len(separator) * len(array) > MAX_WEIGHT:
            raise too_much()
        return separator.join(array)


def weighed(value: JsonValue) -> JsonValue:
    """Return `value`; raise `ToolInputRejected` if it is too large or holds an infinite number."""
    weight, left = 0, [value]
    while left:
        part = left.pop()
        weight += VALUE_WEIGHT
        if isinstance(part, str):
            weight += len(part)
        elif isinstance(part, list):
            weight += VALUE_WEIGHT * len(part)
            left.extend(part if weight <= MAX_WEIGHT else ())
        elif isinstance(part, dict):
            weight += sum(map(len, part)) + VALUE_WEIGHT * len(part)
            left.extend(part.values() if weight <= MAX_WEIGHT else ())
        elif isinstance(part, float) and not math.isfinite(part):
            raise ToolInputRejected("A number of the result is too large.", "Use smaller numbers.")
        if weight > MAX_WEIGHT:
            raise too_much()
    return value


def too_much() -> ToolInputRejected:
    """Return the refusal for a query that takes too long or builds too much."""
    return ToolInputRejected(
        "The query takes too long or its result is too large.",
        "Filter first, select fewer values, or query a smaller document.",
    )
