"""What the builder asks for while a sequence is put together: the picker and the checks of rows."""

import re
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_POST

from config.lib.http import SignedInRequest
from sequences.forms.picker import picker_of
from sequences.forms.posted import draft_from_post
from sequences.forms.previews import all_checks, check_at
from sequences.forms.reach import Reach, reach_of
from sequences.samples import draft_owned_by

_STEP = re.compile(r"steps-(\d{1,3})-")


@login_required
@require_http_methods(["GET", "POST"])
def draft_picker(request: SignedInRequest, draft_id: UUID) -> HttpResponse:
    """Show what a row or a text of the builder may read.

    `row` or `field` say where in the form what is picked goes; `step` is the key of the step where
    the form is not sent along.
    """
    reach = _reach(request, draft_id)
    row, field = request.GET.get("row", ""), request.GET.get("field", "")
    place = reach.index_of(request.GET.get("step", ""))
    if place is None and (match := _STEP.match(row or field)):
        place = int(match[1]) if int(match[1]) < len(reach.draft.steps) else None
    loop = row.endswith("-each")
    context = {
        "picker": picker_of(reach, place, with_item=not loop),
        "row": row,
        "field": field,
        "mode": _mode(reach, field),
        "loop": f"steps-{place}-each" if place is not None else "",
    }
    return render(request, "sequences/_picker.html", context)


@login_required
@require_POST
def draft_check(request: SignedInRequest, draft_id: UUID) -> HttpResponse:
    """Tell what one row or text of the sent form gives at present, and whether that fits."""
    prefix = request.GET.get("at", "")
    check = check_at(_reach(request, draft_id), prefix)
    return render(request, "sequences/_check.html", {"check": check, "prefix": prefix})


@login_required
@require_http_methods(["GET", "POST"])
def draft_checks(request: SignedInRequest, draft_id: UUID) -> HttpResponse:
    """Tell the same of all rows and texts at once."""
    shown = list(all_checks(_reach(request, draft_id)))
    return render(request, "sequences/_checks.html", {"shown": shown})


def _reach(request: SignedInRequest, draft_id: UUID) -> Reach:
    """Return the draft as its form was sent, else as it is saved."""
    row = draft_owned_by(request.user, draft_id)
    sent = draft_from_post(request.POST.dict())
    return reach_of(row, request.user, draft=sent if sent.steps else None)


def _mode(reach: Reach, field: str) -> str:
    """Say how the field takes what is picked: as a template, an expression or a condition."""
    if field.endswith("-when"):
        return "condition"
    match = re.fullmatch(r"(?:steps-(\d{1,3})-in|(final))-(\d{1,3})-value", field)
    if not match:
        return "template"
    steps = reach.draft.steps
    number, place = int(match[3]), int(match[1] or 0)
    rows = reach.draft.final if match[2] else steps[place].rows if place < len(steps) else []
    return (
        "expression" if number < len(rows) and rows[number].source == "expression" else "template"
    )
