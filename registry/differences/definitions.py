"""What changed in the definition of a tool that people made: steps, or one request."""

from collections.abc import Iterator, Mapping

from config.lib.types import JsonObject
from registry.differences.found import Difference
from registry.differences.requests import request_differences
from registry.differences.steps import sequence_differences


def definition_differences(
    before: JsonObject | None, after: JsonObject | None, names: Mapping[str, str]
) -> Iterator[Difference]:
    """Yield what changed between two definitions of the same kind of tool, or from none."""
    if before == after:
        return
    then, now = before or {}, after or {}
    if "steps" in then or "steps" in now:
        yield from sequence_differences(then, now, names)
    else:
        yield from request_differences(then, now)
