# ruff: noqa: T201 - a command
"""Fit and measure the relevance scale on labelled sets.

    python -m tests.registry.search.fit_relevance SETS [--others names.tsv] [--meaning DIR] [--fit]

SETS is a folder of sets (`tools.jsonl`, `queries.jsonl`); `--others` a table (name, -, -, summary)
that enlarges the pooled set to 100,000. Prints, for each registry, how many messages without an
answer find something (the fitted half, the held-out half, those written blind; requests of other
sets, and those whose right tools were taken out) and the points of recall@5 that the floor costs;
with `--fit` the coefficients as they stand in `registry/search/relevance.py`.
"""

import argparse
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from registry.search.dense.local import LocalEncoder
from registry.search.relevance import COEFFICIENTS, WITH_MEANING
from registry.search.weights import Weights
from tests.registry.search.relevance_data import LARGE, SMALL, Meanings, Seen, collect

FLOOR = Weights().floor
SIZE = list(COEFFICIENTS).index("size")
QUANTILES = (0.988, 0.965)
NONE_SHARE = 0.3
WEIGHTS = {"own words": 0.5, "short": 2.0}
OUT = ("foreign", "removed")
LEAST_ODDS = -8.0


def fit(found: list[Seen]) -> tuple[np.ndarray, float]:
    """Return coefficients and intercept.

    1. A logistic regression tells requests that find a right tool from messages without answer;
       each registry and class has the same weight. Requests that nothing answers do not count:
       told apart by likeness in meaning, they cost too many of those that something answers.
    2. The likelihood is blind to its tail: by chance, more is found in more tools. A line by the
       size of the registry through what `QUANTILES` of the messages stay below becomes the floor
       (of small and large registries: few words tell much in a small one).
    3. The log-odds are scaled so that they tell how often the first result is relevant.
    """
    rows, labels, groups, counts = [], [], [], []
    for each in found:
        kind = each.query.kind.partition(":")[0]
        if not len(each.rows) or each.query.held_out or each.query.recent:
            continue
        if is_none(each) or (kind not in OUT and (any(each.hits) or kind == "short")):
            rows.append(each.rows[0])
            labels.append(not is_none(each))
            groups.append((each.registry, is_none(each), kind_of(each)))
            counts.append(WEIGHTS.get(kind, 1.0))
    weights = shares(groups) * counts
    beta, base = logistic(np.array(rows), np.array(labels, float), weights / weights.sum())

    points = []
    for registry in sorted({each.registry for each in found}):
        none = [e for e in found if e.registry == registry and is_none(e)]
        odds = [best_of(e, beta) + base for e in none if not e.query.held_out]
        size = np.median([e.rows[0, SIZE] for e in none if len(e.rows)])
        share = np.interp(size, (np.log10(SMALL + 10), np.log10(LARGE)), QUANTILES)
        points.append((size, max(float(np.quantile(odds, share)), LEAST_ODDS)))
    slope, start = np.polyfit(*zip(*points, strict=True), 1)
    beta[SIZE] -= slope
    base -= float(start)

    some = [e for e in found if e.hits and e.registry[0].isalpha() and e.registry != "pooled"]
    some = [e for e in some if (is_none(e) or kind_of(e) == "") and not e.query.recent]
    odds = np.array([best_of(each, beta) + base for each in some])
    weights = shares([(e.registry, is_none(e)) for e in some])
    weights *= [NONE_SHARE if is_none(each) else 1.0 for each in some]
    first = np.array([each.hits[0] for each in some], float)
    scale, _ = logistic(odds[:, None], first, weights / weights.sum())
    return beta * scale[0], base * float(scale[0]) + float(np.log(FLOOR / (1 - FLOOR)))


def kind_of(each: Seen) -> str:
    """Return the kind of what is not one of a set's own queries."""
    kind = each.query.kind.partition(":")[0]
    return kind if kind in (*WEIGHTS, *OUT, "fresh") else ""


def is_none(each: Seen) -> bool:
    return each.query.kind.startswith("no: ")


def passes(each: Seen) -> bool:
    return max(each.scores, default=0) >= FLOOR


def best_of(each: Seen, beta: np.ndarray) -> float:
    rows = each.rows if each.is_meant else each.rows[each.rows[:, 0] > 0]
    return float((rows @ beta).max()) if len(rows) else LEAST_ODDS


def shares(groups: list[tuple[object, ...]]) -> np.ndarray:
    counts = Counter(groups)
    return np.array([1 / counts[group] for group in groups])


def logistic(rows: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the maximum of the penalised likelihood, by Newton's method on scaled features."""
    mean = weights @ rows
    scale = np.sqrt(weights @ (rows - mean) ** 2) + 1e-9
    scaled = np.c_[(rows - mean) / scale, np.ones(len(rows))]
    beta = np.zeros(scaled.shape[1])
    penalty = 1e-3 * np.r_[np.ones(len(beta) - 1), 0.0]
    for _ in range(60):
        likely = 1 / (1 + np.exp(-scaled @ beta))
        slope = scaled.T @ (weights * (likely - labels)) + penalty * beta
        bend = (scaled * (weights * likely * (1 - likely))[:, None]).T @ scaled
        beta -= np.linalg.solve(bend + np.diag(penalty + 1e-9), slope)
    return beta[:-1] / scale, float(beta[-1] - (mean * beta[:-1] / scale).sum())


def report(found: list[Seen]) -> None:
    by_registry = defaultdict(list)
    for each in found:
        by_registry[each.registry].append(each)
    for registry, items in by_registry.items():
        none = [each for each in items if is_none(each)]
        told = [
            shown([each for each in none if not each.query.held_out]),
            shown([each for each in none if each.query.held_out]),
            *(shown([e for e in items if kind_of(e) == kind]) for kind in ("fresh", *OUT, "short")),
        ]
        for kind in ("", "own words"):
            some = [e for e in items if e.query.relevant and kind_of(e) == kind]
            lost = [
                sum(hit and score < FLOOR for hit, score in zip(e.hits, e.scores, strict=True))
                / len(e.query.relevant)
                for e in some
            ]
            recall = [sum(e.hits) / len(e.query.relevant) for e in some]
            told.append(f"{100 * np.mean(recall):5.1f} -{100 * np.mean(lost):4.2f}" if some else "")
        print("| " + " | ".join([f"{registry:20}", *told]) + " |")
    for name in ("no: ", "fresh: "):
        kinds = defaultdict(list)
        for each in found:
            if each.query.kind.startswith(name) and each.registry in ("bfcl", "pooled", "100k"):
                kinds[each.query.kind].append(passes(each))
        print({kind: f"{100 * np.mean(values):.0f} %" for kind, values in kinds.items()})
    reliability(found)


def shown(items: list[Seen]) -> str:
    return f"{100 * np.mean([passes(each) for each in items]):4.1f}" if items else "    "


def reliability(found: list[Seen]) -> None:
    """Print how many of the results in each tenth of the scale are relevant."""
    bins = defaultdict(list)
    for each in found:
        if each.registry[0].isalpha() and kind_of(each) == "":
            for place, (hit, score) in enumerate(zip(each.hits, each.scores, strict=True)):
                bins[min(9, int(score * 10))].append((hit, place == 0))
    for tenth, items in sorted(bins.items()):
        firsts = [hit for hit, first in items if first]
        print(f"{tenth / 10:.1f}  {len(items):6} results {np.mean([hit for hit, _ in items]):.2f}"
              f"  {len(firsts):6} firsts {np.mean(firsts) if firsts else 0:.2f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", type=Path)
    parser.add_argument("--others", type=Path)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument(
        "--meaning",
        type=Path,
        help="fit likeness in meaning; a folder for the model and its vectors",
    )
    options = parser.parse_args()
    folders = sorted(each for each in options.sets.iterdir() if (each / "tools.jsonl").exists())
    folder = options.meaning
    meanings = Meanings(LocalEncoder(folder), folder) if folder else None
    found = list(collect(folders, options.others, meanings))
    if meanings:
        meanings.keep()
    for is_meant in (False, True)[: 1 if meanings is None else 2]:
        items = [each for each in found if each.is_meant is is_meant]
        print("| registry | fitted | held out | fresh | foreign | removed | short | recall | own |")
        report(items)
        if options.fit:
            coefficients, intercept = fit(items)
            names = WITH_MEANING if is_meant else COEFFICIENTS
            fitted = zip(names, coefficients.round(3).tolist(), strict=True)
            print({**dict(fitted), "base": round(intercept, 3)})


if __name__ == "__main__":
    main()
