"""`manage.py eval_search`."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, cast

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from config.lib.errors import InvalidInput
from registry.search.document import SearchDocument
from registry.search.evaluation import Summary, by_kind, summary
from registry.search.labelled import LabelledQuery, read_queries, read_tools
from registry.search.trials import Told, Trial, okapi_trial, own_trial
from registry.search.weights import Weights

COLUMNS = (
    *("nDCG@5", "nDCG@10", "recall@5", "recall@10", "MRR@10", "recall@5_above_floor"),
    *("no_answer_accuracy", "p50_ms", "p95_ms"),
)
HEADINGS = {
    "recall@5_above_floor": "recall@5 ≥ floor",
    "no_answer_accuracy": "no answer",
    "p50_ms": "p50 ms",
    "p95_ms": "p95 ms",
}


class Command(BaseCommand):
    """Rank a labelled set with the product's own engine and say how good that is."""

    help = (
        "Rank a labelled set of queries with the product's own search engine and print nDCG, "
        "recall, MRR, no-answer accuracy, latency and build time, beside plain rank-bm25 on the "
        "same set. Needs neither database nor network. Exit status 1 when a file is not valid."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the two files, the weights and the form of the answer."""
        parser.add_argument(
            "--tools", required=True, type=Path, metavar="FILE", help="one tool per line, as JSON"
        )
        parser.add_argument(
            "--queries",
            required=True,
            type=Path,
            metavar="FILE",
            help="one query per line, as JSON, with the ids of its relevant tools",
        )
        parser.add_argument(
            "--weights",
            type=Path,
            metavar="FILE",
            help="a JSON object of weights to try, the others as they are by default",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")
        parser.add_argument(
            "--markdown", action="store_true", help="print the tables, with kinds, as Markdown"
        )
        parser.add_argument("--by-kind", action="store_true", help="tell each kind of query apart")
        parser.add_argument(
            "--no-baseline", action="store_true", help="leave rank-bm25 out; it is slow"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Judge the set; raises CommandError for a file that is missing or not valid."""
        try:
            tools = read_tools(options["tools"])
            queries = read_queries(options["queries"], {tool.id for tool in tools})
            weights = weights_from(options["weights"])
        except InvalidInput as error:
            raise CommandError(f"{error.message} {error.hint}") from None
        trials = self._trials(tools, queries, weights, baseline=not options["no_baseline"])
        if options["json"]:
            document = told(tools, queries, weights, trials)
            self.stdout.write(json.dumps(document, ensure_ascii=False, indent=2))
        else:
            kinds = options["by_kind"] or options["markdown"]
            show = self._markdown if options["markdown"] else self._table
            self._tell(tools, queries, trials, kinds=kinds, show=show)

    def _trials(
        self,
        tools: Sequence[SearchDocument],
        queries: Sequence[LabelledQuery],
        weights: Weights,
        *,
        baseline: bool,
    ) -> list[Trial]:
        console = Console(file=cast(IO[str], self.stderr))
        with Progress(console=console, transient=True) as bar:

            def step(name: str) -> Told:
                task = bar.add_task(name, total=len(queries))
                return lambda: bar.advance(task)

            trials = [own_trial(tools, queries, weights, told=step("Ranking"))]
            if baseline:
                trials.append(okapi_trial(tools, queries, told=step("rank-bm25")))
        return trials

    def _tell(
        self,
        tools: Sequence[SearchDocument],
        queries: Sequence[LabelledQuery],
        trials: Sequence[Trial],
        *,
        kinds: bool,
        show: Callable[[Sequence[str], Sequence[Sequence[str]]], None],
    ) -> None:
        empty = sum(not query.relevant for query in queries)
        self.stdout.write(
            f"{len(tools):,} tools, {len(queries) - empty:,} queries with an answer, "
            f"{empty:,} without"
        )
        self.stdout.write("")
        headings = [HEADINGS.get(name, name) for name in COLUMNS]
        show(
            ["ranking", *headings, "build ms"],
            [
                [trial.name, *_cells(summary(trial.judged)), f"{trial.build_ms:,.0f}"]
                for trial in trials
            ],
        )
        if kinds:
            self.stdout.write("")
            show(
                ["kind", "queries", *headings],
                [
                    [kind, str(told_of.queries + told_of.no_answer_queries), *_cells(told_of)]
                    for kind, told_of in by_kind(trials[0].judged).items()
                ],
            )

    def _table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        table = Table(*headings)
        for row in rows:
            table.add_row(*row)
        width = None if self.stdout.isatty() else 160
        Console(file=cast(IO[str], self.stdout), width=width).print(table)

    def _markdown(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        for row in (headings, ["---"] * len(headings), *rows):
            self.stdout.write(f"| {' | '.join(row)} |")


def weights_from(path: Path | None) -> Weights:
    """Read weights to try. Raises InvalidInput for a file or a weight that is not valid."""
    if path is None:
        return Weights()
    hint = 'It is a JSON object such as {"floor": 0.25}.'
    try:
        values = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InvalidInput(f"There is no file {path}.", hint) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not JSON: {error}.", hint) from None
    if not isinstance(values, dict):
        raise InvalidInput(f"{path} is not a JSON object.", hint)
    try:
        return Weights.of(values)
    except ValueError as error:
        raise InvalidInput(f"{path}: {error}", hint) from None


def told(
    tools: Sequence[SearchDocument],
    queries: Sequence[LabelledQuery],
    weights: Weights,
    trials: Sequence[Trial],
) -> dict[str, Any]:
    """Return the answer as JSON: the set, the weights, and one entry for each ranking."""
    ours = trials[0]
    return {
        "tools": len(tools),
        "queries": sum(bool(query.relevant) for query in queries),
        "no_answer_queries": sum(not query.relevant for query in queries),
        "weights": weights.as_dict(),
        "rankings": {
            trial.name: {**summary(trial.judged).as_json(), "build_ms": round(trial.build_ms, 2)}
            for trial in trials
        },
        "kinds": {name: told_of.as_json() for name, told_of in by_kind(ours.judged).items()},
    }


def _cells(told_of: Summary) -> list[str]:
    values = told_of.as_json()
    return ["–" if values[name] is None else f"{values[name]:.3f}" for name in COLUMNS]
