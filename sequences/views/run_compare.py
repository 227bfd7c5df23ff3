"""The page that puts two runs side by side."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from config.lib.http import SignedInRequest
from config.lib.ids import uuids_in
from sequences import selectors
from sequences.comparing import Pair, ValueDifference, compared
from sequences.views.values import pretty

LONGEST_SIDE = 2_000
"""Characters of a value that one side shows."""


@login_required
@require_GET
def run_choose(request: SignedInRequest) -> HttpResponse:
    """Lead to the comparison of the two runs that were chosen in the list."""
    chosen = uuids_in(request.GET.getlist("run"))
    if len(chosen) != 2:  # noqa: PLR2004
        messages.warning(request, "Choose two runs of the same sequence to compare them.")
        return redirect("sequences:run_list")
    later, earlier = chosen  # the list has the newest first
    return redirect("sequences:run_compare", earlier, later)


@login_required
@require_GET
def run_compare(request: SignedInRequest, run_id: UUID, other_id: UUID) -> HttpResponse:
    """Show two runs of one sequence step by step, and how their values differ."""
    found = compared(
        selectors.run_of(request.user, run_id), selectors.run_of(request.user, other_id)
    )
    context = {
        "found": found,
        "input": [_told(each) for each in found.input],
        "output": [_told(each) for each in found.output],
        "rows": [_row(pair) for pair in found.pairs],
    }
    return render(request, "sequences/run_compare.html", context)


def _row(pair: Pair) -> dict[str, object]:
    return {
        "pair": pair,
        "step": pair.b or pair.a,
        "input": [_told(each) for each in pair.input],
        "output": [_told(each) for each in pair.output],
    }


def _told(difference: ValueDifference) -> dict[str, str]:
    sides = {"before": difference.before, "after": difference.after}
    absent = {"added": "before", "removed": "after"}.get(difference.kind)
    texts = {side: "" if side == absent else _cut(pretty(value)) for side, value in sides.items()}
    return {"path": difference.path, "kind": difference.kind, **texts}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_SIDE else f"{text[:LONGEST_SIDE]}\n…"
