"""The builder: a draft of a sequence, saved with every change, published when it is ready."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from config.lib.errors import Conflict, InvalidInput
from config.lib.htmx import wants_fragment
from config.lib.http import SignedInRequest
from config.lib.numbers import whole_number
from registry.impact.agreement import FIELD, AgreementNeededError
from registry.review.drafts import saved_words
from sequences import drafts
from sequences.definition import DefinitionInvalid, Problem
from sequences.drafts import DraftConflict
from sequences.forms.actions import act
from sequences.forms.drafts import Draft, new_draft
from sequences.forms.mapping_actions import mapping_act
from sequences.forms.posted import draft_from_post
from sequences.forms.settling import settled
from sequences.forms.step_tools import tools_of
from sequences.opened import Opened, opened_draft, opened_tool
from sequences.publishing import NewerVersion, draft_publish
from sequences.repairing import repaired
from sequences.versions import draft_begin_anew
from sequences.views.builder import conflict_shown, draft_shown, saved_shown

PUBLISH_AND_RUN = "publish-run"
SAVES = ("", "save")


@login_required
@require_http_methods(["GET", "POST"])
def sequence_create(request: SignedInRequest) -> HttpResponse:
    """Show the ways to begin a sequence, and begin a blank one."""
    if request.method == "GET":
        return render(request, "sequences/sequence_new.html")
    row = drafts.draft_begin(request.user, new_draft())
    return redirect("sequences:draft_edit", row.pk)


@login_required
@require_http_methods(["GET", "POST"])
def sequence_edit(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show the builder with one of a person's own sequences, and keep what is changed."""
    return _answered(request, opened_tool(request.user, tool_id, _number(request, "base")))


@login_required
@require_http_methods(["GET", "POST"])
def draft_edit(request: SignedInRequest, draft_id: UUID) -> HttpResponse:
    """Show the builder with a draft, and keep what is changed."""
    return _answered(request, opened_draft(request.user, draft_id, _number(request, "base")))


@login_required
@require_POST
def draft_discard(request: SignedInRequest, draft_id: UUID) -> HttpResponse:
    """Delete a draft that was never published."""
    drafts.draft_discard(opened_draft(request.user, draft_id))
    messages.success(request, "The draft is discarded.")
    return redirect("sequences:sequence_list")


def _answered(request: SignedInRequest, opened: Opened) -> HttpResponse:
    if request.method == "GET":
        return draft_shown(request, opened)
    posted = draft_from_post(request.POST.dict())
    settled(posted, tools_of(request.user, posted))
    try:
        return _changed(request, opened, posted)
    except DraftConflict as conflict:
        if conflict.row and conflict.says(posted) and request.POST.get("action", "") in SAVES:
            # It was saved before, and the answer was lost.
            return saved_shown(request, opened.now(conflict.row, posted))
        return conflict_shown(request, opened, conflict, posted)


def _changed(request: SignedInRequest, opened: Opened, posted: Draft) -> HttpResponse:
    user, action = request.user, request.POST.get("action", "")
    name, _, told = action.rpartition("-")
    if name in ("keep-mine", "take-theirs"):
        return _resolved(request, opened, posted, name, whole_number(told) or 0)
    revision = _number(request, "revision") or 0
    opened = drafts.draft_save(opened, posted, user=user, revision=revision)
    match action:
        case _ if action in SAVES:
            return saved_shown(request, opened)
        case "publish" | "publish-run":
            return _published(request, opened, action)
        case "undo":
            opened = drafts.draft_undo(opened, user=user, revision=opened.revision)
        case "redo":
            opened = drafts.draft_redo(opened, user=user, revision=opened.revision)
        case "restart" if opened.edited:
            opened = draft_begin_anew(opened, user=user, revision=opened.revision)
        case "rebase":
            opened = drafts.draft_rebase(opened, revision=opened.revision)
        case _:
            return _acted(request, opened, action)
    return draft_shown(request, opened)


def _acted(request: SignedInRequest, opened: Opened, action: str) -> HttpResponse:
    """Carry out a button of the page, and keep what it changed."""
    user, draft = request.user, opened.draft_copy()
    chosen = tools_of(user, draft)
    acted = repaired(user, draft, action) or mapping_act(draft, action, chosen)
    acted = acted or act(draft, action)
    settled(draft, tools_of(user, draft))
    if acted.told:
        messages.info(request, acted.told)
    opened = drafts.draft_save(
        opened, draft, user=user, revision=opened.revision, label=acted.label
    )
    return draft_shown(request, opened, focus=acted.field)


def _resolved(
    request: SignedInRequest, opened: Opened, posted: Draft, name: str, revision: int
) -> HttpResponse:
    """End a conflict; what is not taken stays in the history."""
    user = request.user
    if name == "keep-mine":
        label = "Kept yours"
        opened = drafts.draft_save(opened, posted, user=user, revision=revision, label=label)
        messages.success(request, "Yours is kept. Undo leads to what the other one made.")
    else:
        opened = drafts.draft_set_aside(opened, posted, user=user, revision=revision)
        messages.success(request, "This is theirs now. Undo leads to what you made.")
    return draft_shown(request, opened)


def _published(request: SignedInRequest, opened: Opened, action: str) -> HttpResponse:
    agreed = request.POST.get(FIELD, "")
    try:
        saved = draft_publish(opened, user=request.user, revision=opened.revision, agreed=agreed)
    except DefinitionInvalid as error:
        return draft_shown(request, opened, problems=error.problems)
    except AgreementNeededError as error:
        return draft_shown(request, opened, impact=error.impact)
    except NewerVersion:
        return draft_shown(request, opened, problems=[])
    except InvalidInput as error:
        return draft_shown(request, opened, problems=[_problem("reason", error)])
    except DraftConflict:
        raise
    except Conflict as error:
        return draft_shown(request, opened, problems=[_problem("name", error)])
    messages.success(request, saved_words(saved))
    page = "sequences:run_start" if action == PUBLISH_AND_RUN else "sequences:sequence_edit"
    url = reverse(page, args=[saved.pk])
    if action == PUBLISH_AND_RUN and saved.live_version:
        url += f"?version={saved.version}"
    return HttpResponseClientRedirect(url) if wants_fragment(request) else redirect(url)


def _problem(field: str, error: InvalidInput | Conflict) -> Problem:
    return Problem(f"$.{field}", None, field, f"{error.message} {error.hint}")


def _number(request: SignedInRequest, name: str) -> int | None:
    return whole_number(request.POST.get(name, ""))
