"""What the builder asks for while a sequence is put together: the picker and the checks of rows."""

import re
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from config.lib.errors import NotFound
from config.lib.http import SignedInRequest
from sequences.forms.picker import picker_of
from sequences.forms.posted import draft_from_post
from sequences.forms.previews import all_checks, check_at
from sequences.forms.reach import Reach, reach_of
from sequences.opened import opened_draft, opened_tool
from sequences.samples import Origin

_STEP = re.compile(r"steps-(\d{1,3})-")
_VALUE = re.compile(r"(?:steps-(\d{1,3})-in|final)-(\d{1,3})-value")


@login_required
@require_http_methods(["GET", "POST"])
def picker(
    request: SignedInRequest, draft_id: UUID | None = None, tool_id: UUID | None = None
) -> HttpResponse:
    """Show what a row or a text of the builder may read.

    `row` or `field` say where in the form what is picked goes; `step` is the key of the step, where
    the form is not sent along.
    """
    reach = _reach(request, draft_id, tool_id)
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
    }
    return render(request, "sequences/_picker.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def check(
    request: SignedInRequest, draft_id: UUID | None = None, tool_id: UUID | None = None
) -> HttpResponse:
    """Tell what one row or text of the form gives at present, and whether that fits."""
    prefix = request.GET.get("at", "")
    found = check_at(_reach(request, draft_id, tool_id), prefix)
    return render(request, "sequences/_check.html", {"check": found, "prefix": prefix})


@login_required
@require_http_methods(["GET", "POST"])
def checks(
    request: SignedInRequest, draft_id: UUID | None = None, tool_id: UUID | None = None
) -> HttpResponse:
    """Tell the same of all rows and texts at once."""
    shown = list(all_checks(_reach(request, draft_id, tool_id)))
    return render(request, "sequences/_checks.html", {"shown": shown})


def _reach(request: SignedInRequest, draft_id: UUID | None, tool_id: UUID | None) -> Reach:
    """Return the draft as its form was sent, else as it is saved; raise NotFound."""
    user = request.user
    if tool_id is not None:
        opened = opened_tool(user, tool_id)
    elif draft_id is not None:
        opened = opened_draft(user, draft_id)
    else:
        raise NotFound("There is no such draft among yours.", "See your sequences.")
    sent = draft_from_post(request.POST.dict())
    origin = Origin(
        draft=opened.row.pk if opened.row else None, tool=opened.tool.pk if opened.tool else None
    )
    return reach_of(sent if sent.steps else opened.draft, origin, user)


def _mode(reach: Reach, field: str) -> str:
    """Say how the field takes what is picked: as a template, an expression or a condition."""
    if field.endswith("-when"):
        return "condition"
    match = _VALUE.fullmatch(field)
    if not match:
        return "template"
    steps, number = reach.draft.steps, int(match[2])
    if match[1] is None:
        rows = reach.draft.final
    else:
        rows = steps[int(match[1])].rows if int(match[1]) < len(steps) else []
    is_expression = number < len(rows) and rows[number].source == "expression"
    return "expression" if is_expression else "template"
