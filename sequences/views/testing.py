"""The part of the builder in which a draft is tested; a page of its own without JavaScript."""

import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRefresh

from config.lib.errors import DomainError, InvalidInput
from config.lib.htmx import render_page, wants_fragment
from config.lib.http import SignedInRequest
from config.lib.numbers import whole_number
from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.errors import ToolError
from registry.schema_forms import arguments_from_form
from sequences import sample_inputs, testing
from sequences.definition import DefinitionInvalid
from sequences.drafts import draft_kept
from sequences.following import state_of
from sequences.models import Run, SampleInput
from sequences.opened import opened_draft, opened_tool
from sequences.test_bench import Bench, bench_of, input_at_hand
from sequences.test_board import outputs_mark
from sequences.testing import Trial
from sequences.views.display import run_fields, texts_of
from sequences.views.values import pretty

FILLED = "test-form"
"""Says that the fields of the input were sent too; a step's own button sends none."""

Sent = dict[str, str] | None


@login_required
@require_http_methods(["GET", "POST"])
def draft_test(request: SignedInRequest, draft_id: UUID) -> HttpResponse:
    """Show what is known of each step, and test what the form asks for."""
    bench = bench_of(opened_draft(request.user, draft_id), user=request.user)
    if request.method == "GET":
        return _shown(request, bench)
    sent = request.POST.dict() if FILLED in request.POST else None
    try:
        _act(request, bench, request.POST.get("do", ""), sent)
    except DomainError as error:
        return _shown(request, bench, sent=sent, error=error)
    if wants_fragment(request):
        return _shown(request, bench, sent=sent)
    return redirect(reverse("sequences:draft_test", args=[draft_id]))


@login_required
@require_POST
def sequence_test(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Begin to test a sequence of which nothing was changed yet: its tests need a draft."""
    opened = opened_tool(request.user, tool_id)
    row = draft_kept(opened, user=request.user)
    bench = bench_of(opened_draft(request.user, row.pk), user=request.user)
    try:
        _act(request, bench, request.POST.get("do", ""), None)
    except DomainError as error:
        messages.error(request, f"{error.message} {error.hint}")
    url = reverse("sequences:sequence_edit", args=[tool_id]) + "#test-panel"
    if wants_fragment(request):  # the form on the page has to learn of the draft
        return HttpResponseClientRefresh()
    return redirect(url)


def _act(request: SignedInRequest, bench: Bench, action: str, sent: Sent) -> None:
    """Do what a button says: `run`, `step:KEY`, `until:KEY`, `from:KEY`, `item:KEY:0`, …"""
    name, _, of = action.partition(":")
    key, _, index = of.partition(":")
    draft = bench.draft
    fields = sent or {}
    match name:
        case "edit":
            output = _json(fields.get(f"output-{key}", ""))
            testing.output_edit(draft, bench.definition, key, output)
        case "forget":
            testing.output_forget(draft, key)
        case "save":
            sample_inputs.sample_save(
                draft, fields.get("sample-name", ""), _given(request, bench, sent)
            )
        case "drop":
            sample_inputs.sample_delete(draft, whole_number(fields.get("sample", "")) or 0)
        case "item":
            trial = _trial(request, bench, sent, last=key)
            testing.item_start(trial, whole_number(index) or 0, user=request.user)
        case "run" | "step" | "until" | "from":
            first = key if name in ("step", "from") else ""
            last = key if name in ("step", "until") else ""
            trial = _trial(request, bench, sent, first=first, last=last)
            testing.trial_start(trial, user=request.user)


def _trial(
    request: SignedInRequest, bench: Bench, sent: Sent, *, first: str = "", last: str = ""
) -> Trial:
    return Trial(
        draft=bench.draft,
        definition=bench.definition,
        input_schema=bench.schema,
        given=_given(request, bench, sent),
        first=first,
        last=last,
    )


def _given(request: SignedInRequest, bench: Bench, sent: Sent) -> JsonObject:
    """Return the input that the form holds; where no form was sent, that of the last test."""
    bench.require_schema()
    if sent is not None:
        return arguments_from_form(bench.schema, sent)
    return input_at_hand(bench, user=request.user)


def _json(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"This is not JSON: {error}.", "Texts stand in quotes.") from None


def _shown(
    request: SignedInRequest,
    bench: Bench,
    *,
    sent: Sent = None,
    error: DomainError | None = None,
) -> HttpResponse:
    test = testing.latest_test(bench.draft, request.user)
    state = state_of(test.pk) if test and not test.is_finished else None
    if test and state:
        test.refresh_from_db()  # read after its state, so that what changes from then on is told
    kept = list(bench.draft.samples.order_by("name", "pk"))
    wanted = whole_number(request.GET.get("sample", "")) or 0
    sample = next((one for one in kept if one.pk == wanted), None)
    if sample is None and sent is None and test is None and kept:
        sample = kept[0]  # as a template brings one along: it can be tried at once
    misfit = error if isinstance(error, ToolError) else None
    context: dict[str, Any] = {
        "draft": bench.draft,
        "steps": bench.board(test),
        "test": test,
        "digest": state.digest if state else "",
        "outputs": outputs_mark(bench.draft),
        "fields": run_fields(bench.schema, _held(bench.schema, sent, sample, test), misfit),
        "samples": kept,
        "sample": sample,
        "problem": bench.problem,
        "error": error,
        "problems": error.problems if isinstance(error, DefinitionInvalid) else (),
        "output": pretty(test.output) if test and test.is_finished else "",
    }
    return render_page(
        request,
        "sequences/draft_test.html",
        context,
        fragment="sequences/_test_panel.html",
        status=422 if error else 200,
    )


def _held(
    schema: JsonSchema, sent: Sent, sample: SampleInput | None, test: Run | None
) -> dict[str, str] | None:
    """Return what the fields hold: what was sent, the sample, the last test's input, or nothing."""
    if sent is not None:
        return sent
    given = sample.input if sample else test.input if test else None
    return None if given is None else texts_of(given, schema)
