# ruff: noqa: T201 - a command
"""Fit and measure the relevance scale on labelled sets.

    python -m tests.registry.search.fit_relevance SETS [--others names.tsv] [--fit]

SETS is a folder of sets (`tools.jsonl`, `queries.jsonl`); `--others` a table (name, -, -, summary)
that enlarges the pooled set to 100,000. Prints, for each registry, how many messages without an
answer find something (the fitted half, the held-out half) and the points of recall@5 that the
floor costs; with `--fit` the coefficients that fit these sets best.
"""

import argparse
import csv
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from registry.search.document import SearchDocument
from registry.search.engine import Engine
from registry.search.need import Need
from registry.search.relevance import COEFFICIENTS
from registry.search.weights import Weights
from tests.registry.search.no_answer import messages, short_requests

FLOOR = Weights().floor
SMALL = 24
LARGE = 100_000
SIZE = list(COEFFICIENTS).index("size")
QUANTILES = (0.978, 0.973)
NONE_SHARE = 0.3
WEIGHTS = {"own words": 0.5, "short": 2.0}
LEAST_ODDS = -8.0


class Query(NamedTuple):
    kind: str
    text: str
    recent: tuple[str, ...] = ()
    relevant: frozenset[str] = frozenset()
    held_out: bool = False


class Seen(NamedTuple):
    registry: str
    query: Query
    hits: tuple[bool, ...]
    scores: tuple[float, ...]
    rows: np.ndarray


def documents(folder: Path) -> Iterator[SearchDocument]:
    for line in (folder / "tools.jsonl").open(encoding="utf-8"):
        tool = json.loads(line)
        parameters = tool.get("parameters") or []
        texts = ("description", "category", "package", "package_description")
        yield SearchDocument(
            id=f"{folder.name}/{tool['id']}",
            name=tool["name"],
            parameters=tuple(each["name"] for each in parameters),
            parameter_descriptions=tuple(each.get("description") or "" for each in parameters),
            examples=tuple(tool.get("examples") or ()),
            **{text: tool.get(text) or "" for text in texts},
        )


def queries(folder: Path) -> Iterator[Query]:
    for line in (folder / "queries.jsonl").open(encoding="utf-8"):
        item = json.loads(line)
        relevant = frozenset(f"{folder.name}/{each}" for each in item["relevant"])
        yield Query(folder.name, item["query"], tuple(item.get("history") or ()), relevant)


def unanswerable() -> list[Query]:
    return [Query(f"no: {each.kind}", each.text, held_out=each.held_out) for each in messages()]


def short() -> list[Query]:
    """Return short requests, which any tool found in a large registry counts as right for."""
    return [Query("short", each.text, held_out=each.held_out) for each in short_requests()]


def own_words(tools: list[SearchDocument], count: int, rng: random.Random) -> Iterator[Query]:
    """Yield short requests: the name of a tool, and the first words of its description."""
    for tool in rng.sample(tools, min(count, len(tools))):
        relevant = frozenset(each.id for each in tools if each.name == tool.name)
        yield Query("own words", tool.name, relevant=relevant)
        yield Query("own words", " ".join(tool.description.split()[:6]), relevant=relevant)


def seen(registry: str, engine: Engine, asked: Iterable[Query]) -> Iterator[Seen]:
    for query in asked:
        ranked = engine.rank(Need(text=query.text, recent=query.recent), limit=5)
        ids = [each.id for each in ranked]
        yield Seen(
            registry,
            query,
            tuple(each in query.relevant for each in ids),
            tuple(each.score for each in ranked),
            engine.features(query.text, ids),
        )


def collect(folders: list[Path], others: Path | None) -> Iterator[Seen]:
    rng = random.Random(5)
    none = unanswerable()
    pool: list[SearchDocument] = []
    asked: list[Query] = []
    for folder in folders:
        tools, own = list(documents(folder)), list(queries(folder))
        pool += tools
        asked += rng.sample(own, min(300, len(own)))
        yield from seen(folder.name, Engine.build(tools), [*own, *none, *own_words(tools, 60, rng)])
        for _ in range(3):
            few = rng.sample(tools, min(SMALL, len(tools)))
            ids = {tool.id for tool in few}
            some = [each._replace(relevant=each.relevant & ids) for each in own]
            some = [each for each in some if each.relevant]
            some = rng.sample(some, min(150, len(some)))
            words = own_words(few, SMALL, rng)
            yield from seen(f"{SMALL} of {folder.name}", Engine.build(few), [*some, *none, *words])
    for _ in range(60):
        few = rng.sample(pool, rng.choice([1, 2, 3, 5]))
        words = own_words(few, 5, rng)
        yield from seen("1-5", Engine.build(few), [*rng.sample(none, 60), *words])
    words = list(own_words(pool, 150, rng))
    yield from seen("pooled", Engine.build(pool), [*asked, *none, *words, *short()])
    if others:
        more = list(table(others, LARGE - len(pool), rng))
        yield from seen("100k", Engine.build([*pool, *more]), [*asked, *none, *words, *short()])


def table(path: Path, count: int, rng: random.Random) -> Iterator[SearchDocument]:
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    lines = [row for row in lines[1:] if len(row) > 3 and len(row[3]) > 14]
    for row in rng.sample(lines, min(count, len(lines))):
        package, _, name = row[0].rpartition("/")
        yield SearchDocument(id=f"other/{row[0]}", name=name, description=row[3], package=package)


def fit(found: list[Seen]) -> tuple[np.ndarray, float]:
    """Return coefficients and intercept.

    1. A logistic regression tells requests that find a right tool from messages without answer;
       each registry and class has the same weight.
    2. The likelihood is blind to its tail: by chance, more is found in more tools. A line by the
       size of the registry through what `QUANTILES` of the messages stay below becomes the floor
       (of small and large registries: few words tell much in a small one).
    3. The log-odds are scaled so that they tell how often the first result is relevant.
    """
    rows, labels, groups = [], [], []
    for each in found:
        if not len(each.rows) or each.query.held_out or each.query.recent:
            continue
        if is_none(each) or any(each.hits) or each.query.kind == "short":
            rows.append(each.rows[0])
            labels.append(not is_none(each))
            groups.append((each.registry, is_none(each), kind_of(each)))
    weights = shares(groups) * [WEIGHTS.get(group[2], 1.0) for group in groups]
    beta, base = logistic(np.array(rows), np.array(labels, float), weights / weights.sum())

    points = []
    for registry in {each.registry for each in found}:
        none = [e for e in found if e.registry == registry and is_none(e)]
        odds = [best_of(e.rows, beta) + base for e in none if not e.query.held_out]
        size = np.median([e.rows[0, SIZE] for e in none if len(e.rows)])
        share = np.interp(size, (np.log10(SMALL + 10), np.log10(LARGE)), QUANTILES)
        points.append((size, max(float(np.quantile(odds, share)), LEAST_ODDS)))
    slope, start = np.polyfit(*zip(*points, strict=True), 1)
    beta[SIZE] -= slope
    base -= float(start)

    some = [e for e in found if e.hits and e.registry[0].isalpha() and e.registry != "pooled"]
    some = [e for e in some if kind_of(e) == "" and not e.query.recent]
    odds = np.array([best_of(each.rows, beta) + base for each in some])
    weights = shares([(e.registry, is_none(e)) for e in some])
    weights *= [NONE_SHARE if is_none(each) else 1.0 for each in some]
    first = np.array([each.hits[0] for each in some], float)
    scale, _ = logistic(odds[:, None], first, weights / weights.sum())
    return beta * scale[0], base * float(scale[0]) + float(np.log(FLOOR / (1 - FLOOR)))


def kind_of(each: Seen) -> str:
    return each.query.kind if each.query.kind in WEIGHTS else ""


def is_none(each: Seen) -> bool:
    return each.query.kind.startswith("no: ")


def passes(each: Seen) -> bool:
    return max(each.scores, default=0) >= FLOOR


def best_of(rows: np.ndarray, beta: np.ndarray) -> float:
    said = rows[rows[:, 0] > 0]
    return float((said @ beta).max()) if len(said) else LEAST_ODDS


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
        halves = [
            100
            * np.mean([max(e.scores, default=0) >= FLOOR for e in none if e.query.held_out is h])
            for h in (False, True)
        ]
        told = []
        for words in (False, True):
            some = [e for e in items if e.query.relevant and (e.query.kind == "own words") is words]
            lost = [
                sum(hit and score < FLOOR for hit, score in zip(e.hits, e.scores, strict=True))
                / len(e.query.relevant)
                for e in some
            ]
            recall = [sum(e.hits) / len(e.query.relevant) for e in some]
            told.append(f"{100 * np.mean(recall):5.1f} -{100 * np.mean(lost):4.2f}" if some else "")
        print(f"{registry:24} found {halves[0]:4.1f} / {halves[1]:4.1f} %   recall {told[0]:12}"
              f" own words {told[1]}")  # fmt: skip
        brief = [e for e in items if e.query.kind == "short"]
        if brief:
            kept = [
                100 * np.mean([passes(e) for e in brief if e.query.held_out is half])
                for half in (False, True)
            ]
            print(f"{'':24} short requests that find something {kept[0]:.0f} / {kept[1]:.0f} %")
    kinds = defaultdict(list)
    for each in found:
        if is_none(each) and each.registry in ("bfcl", "pooled", "100k"):
            kinds[each.query.kind].append(passes(each))
    print({kind: f"{100 * np.mean(values):.0f} %" for kind, values in kinds.items()})
    reliability(found)


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
    options = parser.parse_args()
    folders = sorted(each for each in options.sets.iterdir() if (each / "tools.jsonl").exists())
    found = list(collect(folders, options.others))
    report(found)
    if options.fit:
        coefficients, intercept = fit(found)
        fitted = dict(zip(COEFFICIENTS, coefficients.round(2).tolist(), strict=True))
        print(fitted, round(intercept, 2))


if __name__ == "__main__":
    main()
