"""What an experiment has shown, to look at and to take away."""

from collections.abc import Iterator
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from agents.experiments import experiment_visible_to
from chat.comparison import Compared
from chat.experiments import Results, Row, results_of, rows_of
from chat.views.comparison_words import amount, drawn, words_of
from config.lib.csv_answers import Cell, csv_download
from config.lib.http import SignedInRequest

ROW_FIELDS = (
    *("conversation", "toolset", "turns", "answered", "tool_calls", "failed_tool_calls"),
    *("latency_ms", "tokens", "cost_usd"),
)
SUMMARY_FIELDS = (
    *("measure", "unit", "a_conversations", "a", "a_low", "a_high"),
    *("b_conversations", "b", "b_low", "b_high", "difference", "p", "p_adjusted", "verdict"),
)


@login_required
@require_safe
def experiment_detail(request: SignedInRequest, slug: str, experiment_id: UUID) -> HttpResponse:
    """Show both toolsets and what their conversations came to."""
    experiment = experiment_visible_to(request.user, slug, experiment_id)
    results = results_of(experiment)
    context = {
        "experiment": experiment,
        "agent": experiment.agent,
        "owned": experiment.agent.owner_id == request.user.pk,
        "arms": sorted(experiment.arms.all(), key=lambda arm: arm.letter),
        "results": results,
        "progress": [
            {"letter": letter, "count": count, "planned": experiment.planned}
            for letter, count in results.counts.items()
        ],
        "measures": [_shown(compared) for compared in results.compared],
    }
    return render(request, "agents/experiments/detail.html", context)


@login_required
@require_safe
def experiment_rows(
    request: SignedInRequest, slug: str, experiment_id: UUID
) -> StreamingHttpResponse:
    """Download one line a conversation."""
    experiment = experiment_visible_to(request.user, slug, experiment_id)
    lines = (_line(row) for row in rows_of(experiment))
    name = f"experiment-{experiment.pk}-conversations"
    return csv_download(request, name, ROW_FIELDS, lines)


@login_required
@require_safe
def experiment_summary(
    request: SignedInRequest, slug: str, experiment_id: UUID
) -> StreamingHttpResponse:
    """Download one line a measure."""
    experiment = experiment_visible_to(request.user, slug, experiment_id)
    name = f"experiment-{experiment.pk}-results"
    return csv_download(request, name, SUMMARY_FIELDS, _summary_lines(results_of(experiment)))


def _shown(compared: Compared) -> dict[str, object]:
    unit = compared.measure.unit
    return {
        "compared": compared,
        "a": amount(compared.a.value, unit),
        "b": amount(compared.b.value, unit),
        "verdict": words_of(compared),
        "plot": drawn(compared),
    }


def _line(row: Row) -> tuple[Cell, ...]:
    sample = row.sample
    return (
        str(row.conversation),
        row.letter,
        sample.turns,
        int(sample.answered),
        sample.calls,
        sample.failed_calls,
        sample.latency_ms,
        sample.tokens,
        sample.cost,
    )


def _summary_lines(results: Results) -> Iterator[tuple[Cell, ...]]:
    for compared in results.compared:
        a, b = compared.a, compared.b
        yield (
            compared.measure.key,
            compared.measure.unit.value,
            *(a.n, a.value, a.low, a.high),
            *(b.n, b.value, b.low, b.high),
            *(compared.difference, compared.p, compared.p_adjusted, compared.verdict.value),
        )
