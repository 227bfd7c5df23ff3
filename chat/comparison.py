"""Say whether two samples of conversations differ, and how sure that is.

The conversation is what the lot decided on, so it is what is counted: turns and calls within one
are not independent of each other. Tests are two-sided and come from SciPy: Fisher's exact test for
shares, the Mann-Whitney U test for amounts. Since several measures are looked at, their p-values
are adjusted together (Benjamini-Hochberg).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import ModuleType

ALPHA = 0.05
"""Adjusted p-value up to which a difference is stated."""

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What one conversation came to, over all of its turns that ended.

    `answered` says that no turn failed or was stopped, `latency_ms` is the mean time from a message
    to the end of its turn, `cost` is what the model took, in US dollars, and None where
    the price of a turn is not known.
    """

    turns: int
    answered: bool
    calls: int
    failed_calls: int
    latency_ms: float
    tokens: int
    cost: float | None

    @property
    def went_well(self) -> bool:
        """Tell whether every message was answered and no tool call failed."""
        return self.answered and not self.failed_calls


class Unit(StrEnum):
    """What a measure is counted in."""

    SHARE = "share"
    COUNT = "count"
    MILLISECONDS = "ms"
    TOKENS = "tokens"
    DOLLARS = "usd"


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One thing that is compared; `more_is` better, worse, or neither (empty)."""

    key: str
    label: str
    unit: Unit
    more_is: str
    of: Callable[[Sample], float | None]


MEASURES = (
    Measure(
        key="success",
        label="Conversations that went well",
        unit=Unit.SHARE,
        more_is="better",
        of=lambda sample: float(sample.went_well),
    ),
    Measure(
        key="calls",
        label="Tool calls in a conversation",
        unit=Unit.COUNT,
        more_is="",
        of=lambda sample: sample.calls,
    ),
    Measure(
        key="latency_ms",
        label="Time to an answer",
        unit=Unit.MILLISECONDS,
        more_is="worse",
        of=lambda sample: sample.latency_ms,
    ),
    Measure(
        key="tokens",
        label="Tokens in a conversation",
        unit=Unit.TOKENS,
        more_is="worse",
        of=lambda sample: sample.tokens,
    ),
    Measure(
        key="cost",
        label="Cost of the model in a conversation",
        unit=Unit.DOLLARS,
        more_is="worse",
        of=lambda sample: sample.cost,
    ),
)


class Verdict(StrEnum):
    """What can be said of a measure."""

    NO_DATA = "no_data"
    TOO_FEW = "too_few"
    NO_DIFFERENCE = "no_difference"
    A_BETTER = "a_better"
    B_BETTER = "b_better"
    A_MORE = "a_more"
    B_MORE = "b_more"


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The share or the median of `n` conversations, with its 95 % interval where there is one."""

    n: int
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A measure in both arms. `p` is as tested, `p_adjusted` what the verdict goes by."""

    measure: Measure
    a: Summary
    b: Summary
    p: float | None
    p_adjusted: float | None
    verdict: Verdict

    @property
    def difference(self) -> float | None:
        """Return B less A, in the measure's unit."""
        if self.a.value is None or self.b.value is None:
            return None
        return self.b.value - self.a.value


def compare(a: Sequence[Sample], b: Sequence[Sample], *, planned: int) -> list[Compared]:
    """Compare two arms in every measure; nothing is concluded before both have `planned`."""
    columns = [(measure, _values(measure, a), _values(measure, b)) for measure in MEASURES]
    tested = [_p_value(measure, left, right) for measure, left, right in columns]
    adjusted = _adjusted(tested)
    enough = min(len(a), len(b)) >= planned
    return [
        Compared(
            measure=measure,
            a=_summary(measure, left),
            b=_summary(measure, right),
            p=p,
            p_adjusted=q,
            verdict=_verdict(measure, left, right, q, enough=enough),
        )
        for (measure, left, right), p, q in zip(columns, tested, adjusted, strict=True)
    ]


def _values(measure: Measure, samples: Sequence[Sample]) -> list[float]:
    return [value for sample in samples if (value := measure.of(sample)) is not None]


def _p_value(measure: Measure, a: list[float], b: list[float]) -> float | None:
    if not a or not b:
        return None
    if measure.unit is Unit.SHARE:
        table = [[sum(a), len(a) - sum(a)], [sum(b), len(b) - sum(b)]]
        return float(_stats().fisher_exact(table).pvalue)
    return float(_stats().mannwhitneyu(a, b, alternative="two-sided").pvalue)


def _adjusted(p_values: Sequence[float | None]) -> list[float | None]:
    known = [p for p in p_values if p is not None]
    if not known:
        return list(p_values)
    answers = iter(_stats().false_discovery_control(known, method="bh"))
    return [None if p is None else float(next(answers)) for p in p_values]


def _summary(measure: Measure, values: list[float]) -> Summary:
    if not values:
        return Summary(n=0, value=None, low=None, high=None)
    stats = _stats()
    if measure.unit is Unit.SHARE:
        tested = stats.binomtest(round(sum(values)), len(values))
        interval = tested.proportion_ci(CONFIDENCE, method="wilson")
        value = sum(values) / len(values)
    else:
        value = float(stats.scoreatpercentile(values, 50))
        interval = stats.quantile_test(values, q=value, p=0.5).confidence_interval(CONFIDENCE)
    return Summary(n=len(values), value=value, low=_known(interval.low), high=_known(interval.high))


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _verdict(
    measure: Measure, a: list[float], b: list[float], p: float | None, *, enough: bool
) -> Verdict:
    if p is None:
        return Verdict.NO_DATA
    if not enough:
        return Verdict.TOO_FEW
    if p > ALPHA:
        return Verdict.NO_DIFFERENCE
    more_in_b = _mean_rank_is_higher(a, b)
    if not measure.more_is:
        return Verdict.B_MORE if more_in_b else Verdict.A_MORE
    return Verdict.B_BETTER if more_in_b == (measure.more_is == "better") else Verdict.A_BETTER


def _mean_rank_is_higher(a: list[float], b: list[float]) -> bool:
    """Tell whether a random one of `b` is more often above one of `a` than below."""
    above = float(_stats().mannwhitneyu(b, a).statistic)
    return above > len(a) * len(b) / 2


@cache
def _stats() -> ModuleType:
    """Import SciPy at its first use: it takes a second that no other page should wait for."""
    from scipy import stats

    module: ModuleType = stats
    return module
