"""Durations in buckets of fixed bounds, so that the percentiles of any sum of hours can be told."""

import math
from collections.abc import Sequence

BOUNDS = tuple(sorted({round(2 ** (step / 2)) for step in range(37)}))
"""Upper bounds in milliseconds, each about 1.41 times the one before: 1 ms to 262 s.

Bucket 0 holds what took less than `BOUNDS[0]`, the last what took `BOUNDS[-1]` or longer. A
percentile that is read off is wrong by a fifth at most.
"""

BUCKETS = len(BOUNDS) + 1


def empty() -> list[int]:
    """Return a histogram of nothing."""
    return [0] * BUCKETS


def percentile(durations: Sequence[int | float], share: float) -> int | None:
    """Return the duration in ms that `share` (0 to 1) of the calls stayed below, if any ran."""
    total = sum(durations)
    if not total:
        return None
    wanted, seen = share * total, 0.0
    for bucket, count in enumerate(durations):
        if count and seen + count >= wanted:
            return _within(bucket, (wanted - seen) / count)
        seen += count
    return BOUNDS[-1]


def _within(bucket: int, share: float) -> int:
    """Return the duration at a share of a bucket, on a logarithmic scale."""
    if bucket == 0:
        return 0
    if bucket == len(BOUNDS):
        return BOUNDS[-1]
    low, high = BOUNDS[bucket - 1], BOUNDS[bucket]
    return round(math.exp(math.log(low) + share * math.log(high / low)))
