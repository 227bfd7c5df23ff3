"""Decide on what is proposed."""

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.lib.admin_lists import LongList, named
from config.lib.errors import DomainError
from registry.admin.base import ReadOnly
from registry.admin.bulk import Act, Chosen, DecidesInBulk, ReasonForm
from registry.admin.records import tools_called
from registry.admin.tools import PACKAGES_SEARCHED
from registry.console.picture import Picture, picture_of
from registry.impact.asked import impact_of_proposal
from registry.impact.parts import Impact
from registry.models import Package, Proposal
from registry.models.proposal import ProposalState
from registry.review.deciding import (
    blocking_codes,
    proposal_approve,
    proposal_quarantine,
    proposal_reject,
)
from registry.review.queue import proposals_in_lines, tally_of, told

APPROVE = Act(
    name="approve",
    label="Approve what is proposed",
    done="approved",
    about="What is proposed becomes the live one for everybody, in one step.",
)
REJECT = Act(
    name="reject",
    label="Reject what is proposed",
    done="rejected",
    about="Nobody can call what is proposed. What was live before stays live.",
    grave=True,
)
QUARANTINE = Act(
    name="quarantine",
    label="Quarantine what is proposed",
    done="quarantined",
    about="As a rejection, and marked as dangerous. What was live before stays live.",
    grave=True,
)
ACTS = {act.name: act for act in (APPROVE, REJECT, QUARANTINE)}


class DecisionForm(ReasonForm):
    """What is decided of one proposal: which findings are accepted, and why."""

    decision = forms.ChoiceField(choices=[(name, act.label) for name, act in ACTS.items()])
    accept = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)

    def __init__(self, *args: Any, codes: Sequence[str], **options: Any) -> None:
        super().__init__(*args, **options)
        cast(forms.MultipleChoiceField, self.fields["accept"]).choices = [
            (code, code) for code in codes
        ]
        self.fields["reason"].widget.attrs.pop("autofocus", None)


@admin.register(Proposal)
class ProposalAdmin(ReadOnly, LongList, DecidesInBulk):
    list_display = (
        "subject",
        "cause",
        "change",
        "findings_found",
        "asked_by",
        "opened_at",
        "state_shown",
    )
    list_display_links = ("subject",)
    list_filter = ("state", "cause")
    search_fields = ("package__name", "tool__wire_name", "opened_by__username")
    search_help_text = "A part of a package's name, the wire name of a tool, or a username."
    ordering = ("-opened_at", "pk")
    actions = ("approve", "reject", "quarantine")
    acts: ClassVar[Sequence[Act]] = tuple(ACTS.values())

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("registry.change_proposal")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Proposal]:
        return proposals_in_lines()

    def searched(self, rows: QuerySet[Proposal], words: str) -> QuerySet[Proposal]:
        """Return the proposals for packages named so, for a tool or of a person."""
        packages = Package.objects.filter(name__icontains=words).order_by("name")
        ids = list(packages.values_list("pk", flat=True)[:PACKAGES_SEARCHED])
        people = User.objects.filter(username=words)
        other = named(words, tool=tools_called(words), opened_by=people)
        return rows.filter(Q(package__in=ids) if ids else other)

    @admin.display(description="Subject")
    def subject(self, proposal: Proposal) -> str:
        return str(proposal.package.name if proposal.package else proposal.tool)

    @admin.display(description="What changes")
    def change(self, proposal: Proposal) -> str:
        return told(proposal)

    @admin.display(description="Findings")
    def findings_found(self, proposal: Proposal) -> SafeString | str:
        tally = tally_of(proposal.findings)
        if tally.blocks:
            return format_html('<span class="badge is-failed">{} to accept</span>', tally.blocks)
        if tally.warns:
            return format_html('<span class="badge is-warn">{} to read</span>', tally.warns)
        return f"{tally.infos} to know" if tally.infos else "None"

    @admin.display(description="Asked by", ordering="opened_by__username")
    def asked_by(self, proposal: Proposal) -> str:
        return str(proposal.opened_by or "The system")

    @admin.display(description="State", ordering="state")
    def state_shown(self, proposal: Proposal) -> SafeString:
        shown = "candidate" if proposal.state == ProposalState.OPEN else proposal.state
        return format_html(
            '<span class="badge is-{}">{}</span>', shown, proposal.get_state_display()
        )

    @admin.action(description="Approve…", permissions=["change"])
    def approve(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Make what is proposed the live one."""
        return self.several(request, queryset, APPROVE)

    @admin.action(description="Reject…", permissions=["change"])
    def reject(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Refuse what is proposed."""
        return self.several(request, queryset, REJECT)

    @admin.action(description="Quarantine…", permissions=["change"])
    def quarantine(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Refuse what is proposed as dangerous."""
        return self.several(request, queryset, QUARANTINE)

    def chosen(self, item: Proposal, act: Act) -> Chosen:
        """Say what is proposed, and what stands in the way."""
        codes = blocking_codes(item)
        obstacle = ""
        if item.state != ProposalState.OPEN:
            obstacle = f"It is {item.get_state_display().lower()} already."
        elif act is APPROVE and codes:
            obstacle = f"Findings have to be accepted on its own page: {', '.join(codes)}."
        return Chosen(
            item=item,
            title=self.subject(item),
            detail=told(item),
            obstacle=obstacle,
            url=reverse("admin:registry_proposal_change", args=[item.pk]),
        )

    def carry_out(self, item: Proposal, act: Act, *, by: User, reason: str) -> None:
        """Decide on one proposal; findings that block are accepted on its own page alone."""
        decide(item, act.name, by=by, reason=reason, accept=())

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show one proposal with all that bears on it, or decide on it."""
        proposal = self.get_object(request, unquote(object_id))
        if not self.has_view_or_change_permission(request, proposal):
            raise PermissionDenied
        if proposal is None:
            self.message_user(request, "There is no such proposal any more.", messages.WARNING)
            return HttpResponseRedirect(reverse("admin:index"))
        picture = picture_of(proposal)
        if request.method == "POST":
            return self._decided(request, proposal, picture)
        form = DecisionForm(codes=picture.blocking)
        return self._shown(request, proposal, picture, form)

    def _decided(self, request: HttpRequest, proposal: Proposal, picture: Picture) -> HttpResponse:
        if not self.has_change_permission(request, proposal):
            raise PermissionDenied
        form = DecisionForm(request.POST, codes=picture.blocking)
        if not form.is_valid():
            return self._shown(request, proposal, picture, form, status=422)
        told = form.cleaned_data
        try:
            decide(
                proposal,
                told["decision"],
                by=cast(User, request.user),
                reason=told["reason"],
                accept=told["accept"],
            )
        except DomainError as error:
            form.add_error(None, f"{error.message} {error.hint}".strip())
            return self._shown(request, proposal, picture, form, status=error.status)
        act = ACTS[told["decision"]]
        self.message_user(request, f"{self.subject(proposal)}: {act.done}.", messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:index"))

    def impact(self, request: HttpRequest, items: Sequence[Any], act: Act) -> Impact | None:
        """Return what approving them would do; what is refused leaves all as it is."""
        if act is not APPROVE:
            return None
        return impact_of_proposal(*items, user=cast(User, request.user))

    @staticmethod
    def _impact(request: HttpRequest, proposal: Proposal) -> Impact | None:
        """Return what approving it would do, while it is still to be decided on."""
        if proposal.state != ProposalState.OPEN:
            return None
        return impact_of_proposal(proposal, user=cast(User, request.user))

    def _shown(
        self,
        request: HttpRequest,
        proposal: Proposal,
        picture: Picture,
        form: DecisionForm,
        status: int = 200,
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": self.subject(proposal),
            "opts": self.opts,
            "proposal": proposal,
            "picture": picture,
            "form": form,
            "may_decide": self.has_change_permission(request, proposal),
            "accepted": form["accept"].value() or [],
            "impact": self._impact(request, proposal),
        }
        return TemplateResponse(
            request, "admin/registry/proposal/change_form.html", context, status=status
        )


def decide(
    proposal: Proposal, decision: str, *, by: User, reason: str, accept: Sequence[str]
) -> None:
    """Approve, reject or quarantine a proposal, as the name of an act says."""
    if decision == APPROVE.name:
        proposal_approve(proposal, by=by, reason=reason, accept=accept)
    elif decision == REJECT.name:
        proposal_reject(proposal, by=by, reason=reason)
    else:
        proposal_quarantine(proposal, by=by, reason=reason)
