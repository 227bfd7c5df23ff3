"""Put two runs of a sequence side by side: what each step did, and how that differs."""

from collections.abc import Iterator
from dataclasses import dataclass

from config.lib.errors import InvalidInput
from config.lib.jsontext import schema_type
from config.lib.types import JsonObject, JsonValue
from sequences.models import Run, RunStep

MOST_DIFFERENCES = 50
"""Differences between two values that are told one by one."""

DEEPEST = 20


@dataclass(frozen=True, kw_only=True)
class ValueDifference:
    """One place where two values differ; `before` or `after` is absent where it is missing."""

    path: str
    kind: str
    before: JsonValue = None
    after: JsonValue = None


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A step in both runs, or in one of them."""

    number: int
    a: RunStep | None
    b: RunStep | None
    input: tuple[ValueDifference, ...]
    output: tuple[ValueDifference, ...]

    @property
    def is_same(self) -> bool:
        """Tell whether the step did the same in both."""
        return (
            self.a is not None
            and self.b is not None
            and self.a.status == self.b.status
            and self.a.tool_version == self.b.tool_version
            and not self.input
            and not self.output
        )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two runs; `pairs` has their steps in order, iterations left out."""

    a: Run
    b: Run
    pairs: tuple[Pair, ...]
    input: tuple[ValueDifference, ...]
    output: tuple[ValueDifference, ...]

    @property
    def is_same(self) -> bool:
        """Tell whether both runs did the same."""
        return (
            not self.input and not self.output and all(pair.is_same for pair in self.pairs)
        ) and self.a.status == self.b.status


def compared(a: Run, b: Run) -> Comparison:
    """Compare two runs of one sequence; raise InvalidInput where they are of different ones.

    A step is found in the other run by its key, or where it has none, by its number.
    """
    if a.pk == b.pk:
        raise InvalidInput("This is one run, not two.", "Choose another run to compare it with.")
    if a.tool_id is None or a.tool_id != b.tool_id:
        raise InvalidInput(
            "These are runs of different sequences.", "Compare two runs of the same sequence."
        )
    first, second = _steps(a), _steps(b)
    numbers = {key: step.number for key, step in {**first, **second}.items()}
    return Comparison(
        a=a,
        b=b,
        pairs=tuple(
            _pair(number, first.get(key), second.get(key)) for key, number in numbers.items()
        ),
        input=value_differences(a.input, b.input),
        output=value_differences(a.output, b.output),
    )


def _steps(run: Run) -> dict[str, RunStep]:
    steps = run.steps.filter(iteration=None).select_related("tool").order_by("number", "pk")
    return {step.key or f"#{step.number}": step for step in steps}


def _pair(number: int, a: RunStep | None, b: RunStep | None) -> Pair:
    if a is None or b is None:
        return Pair(number=number, a=a, b=b, input=(), output=())
    return Pair(
        number=number,
        a=a,
        b=b,
        input=value_differences(a.input, b.input),
        output=value_differences(a.output, b.output),
    )


def value_differences(before: JsonValue, after: JsonValue) -> tuple[ValueDifference, ...]:
    """Return where two JSON values differ, at most `MOST_DIFFERENCES` places.

    Paths are JSONPath: `$.items[2].name`. Lists are compared place by place.
    """
    found: list[ValueDifference] = []
    for difference in _differences("$", before, after, DEEPEST):
        found.append(difference)
        if len(found) == MOST_DIFFERENCES:
            break
    return tuple(found)


def _differences(
    path: str, before: JsonValue, after: JsonValue, deeper: int
) -> Iterator[ValueDifference]:
    if deeper and isinstance(before, dict) and isinstance(after, dict):
        yield from _of_objects(path, before, after, deeper)
    elif deeper and isinstance(before, list) and isinstance(after, list):
        for place in range(max(len(before), len(after))):
            where = f"{path}[{place}]"
            if place >= len(before):
                yield ValueDifference(path=where, kind="added", after=after[place])
            elif place >= len(after):
                yield ValueDifference(path=where, kind="removed", before=before[place])
            else:
                yield from _differences(where, before[place], after[place], deeper - 1)
    elif before != after or schema_type(before) != schema_type(after):  # 1 is not true
        yield ValueDifference(path=path, kind="changed", before=before, after=after)


def _of_objects(
    path: str, before: JsonObject, after: JsonObject, deeper: int
) -> Iterator[ValueDifference]:
    for name in [*before, *(name for name in after if name not in before)]:
        where = f"{path}.{name}"
        if name not in before:
            yield ValueDifference(path=where, kind="added", after=after[name])
        elif name not in after:
            yield ValueDifference(path=where, kind="removed", before=before[name])
        else:
            yield from _differences(where, before[name], after[name], deeper - 1)
