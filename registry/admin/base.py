"""What the admins of the registry share."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

from django.contrib import admin
from django.contrib.admin.utils import flatten
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.lib.admin_lists import LongList
from registry.admin.bulk import Act, DecidesInBulk
from registry.console.figures import NONE, Figures
from registry.impact.asked import impact_of_end
from registry.impact.parts import Impact
from registry.models.package import ReviewStatus
from registry.review.selectors import open_proposal_of
from registry.review.standing import review_obstacle


class OnlyFiltered:
    """For lists that an address narrows by their filters alone: any other column, asked for often
    enough, would tell what it holds."""

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Say whether an address may narrow the list so."""
        filters = cast(Any, self).list_filter
        known = {getattr(each, "parameter_name", each) for each in filters}
        return lookup.split("__", maxsplit=1)[0] in known


class ReadOnly(OnlyFiltered):
    """For what the product itself writes: to be looked at, never added, changed or deleted."""

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class FiguredList(ChangeList):
    """A list whose rows know their figures, asked for once for the whole page."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows = list(self.result_list)
        figures = cast(Reviewed, self.model_admin).figures_of(rows)
        for row in rows:
            row.figures = figures.get(row.pk, NONE)
        self.result_list = rows


def acts(noun: str, effect: str) -> Mapping[ReviewStatus, Act]:
    """Return what a reviewer can do with packages or tools; `effect` is what their end does."""
    return {
        ReviewStatus.APPROVED: Act(
            name="approve",
            label=f"Approve {noun}",
            done="approved",
            about="Everybody with access can find and call them.",
            binds=True,
        ),
        ReviewStatus.REJECTED: Act(
            name="reject",
            label=f"Reject {noun}",
            done="rejected",
            about=f"Nobody can find or call them. {effect}",
            grave=True,
        ),
        ReviewStatus.QUARANTINED: Act(
            name="quarantine",
            label=f"Quarantine {noun}",
            done="quarantined",
            about=f"Nobody can find or call them until somebody has looked into it. {effect}",
            grave=True,
        ),
    }


STOP = Act(
    name="stop",
    label="Stop",
    done="stopped",
    about="No call begins any more, and those that run end within a second.",
    grave=True,
)
RESUME = Act(
    name="resume",
    label="Let run again",
    done="running again",
    about="They can be called again as far as review lets them.",
)


class Reviewed(LongList, DecidesInBulk):
    """For what is reviewed here and made elsewhere: decided on with a reason, never edited."""

    actions = ("approve", "reject", "quarantine", "stop", "resume")
    change_form_template = "admin/registry/reviewed_form.html"
    decisions: ClassVar[Mapping[ReviewStatus, Act]] = {}
    stop_one: ClassVar[Callable[..., Any]]
    resume_one: ClassVar[Callable[..., Any]]
    seldom: ClassVar[frozenset[str]] = frozenset({"Stop", "End"})

    def figures_of(self, rows: Sequence[Any]) -> Mapping[Any, Figures]:
        """Return the figures of the rows of a page."""
        raise NotImplementedError

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_changelist(self, request: HttpRequest, **_: Any) -> type[ChangeList]:
        return FiguredList

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the parts of a page without those that may say nothing, and say nothing."""
        return [
            (title, options)
            for title, options in self.fieldsets or ()
            if title not in self.seldom
            or any(getattr(obj, str(name), None) for name in flatten(options["fields"]))
        ]

    @admin.action(description="Approve…", permissions=["change"])
    def approve(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Let everyone with access use them."""
        return self.several(request, queryset, self.decisions[ReviewStatus.APPROVED])

    @admin.action(description="Reject…", permissions=["change"])
    def reject(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Let nobody use them, for good."""
        return self.several(request, queryset, self.decisions[ReviewStatus.REJECTED])

    @admin.action(description="Quarantine…", permissions=["change"])
    def quarantine(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Let nobody use them for now."""
        return self.several(request, queryset, self.decisions[ReviewStatus.QUARANTINED])

    @admin.action(description="Stop…", permissions=["change"])
    def stop(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """End what runs and begin no more."""
        return self.several(request, queryset, STOP)

    @admin.action(description="Resume…", permissions=["change"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Let what was stopped run again."""
        return self.several(request, queryset, RESUME)

    def seen_of(self, item: Any) -> str:
        """Return which proposal, and which version, would be decided on."""
        waiting = open_proposal_of(item)
        return f"{item.pk} {item.version} {waiting.pk if waiting else item.review_status}"

    def decide(self, item: Any, status: ReviewStatus, *, by: User, reason: str) -> None:
        """Review one item."""
        raise NotImplementedError

    def carry_out(self, item: Any, act: Act, *, by: User, reason: str) -> None:
        """Review, stop or resume one item."""
        if act is STOP:
            self.stop_one(item, by=by, reason=reason)
        elif act is RESUME:
            self.resume_one(item, by=by, reason=reason)
        else:
            self.decide(item, self.status_of(act), by=by, reason=reason)

    def obstacle(self, item: Any, act: Act) -> str:
        """Say what stands in the way of an act, or nothing."""
        if act is STOP:
            return "It is stopped already." if item.stopped_at else ""
        if act is RESUME:
            return "" if item.stopped_at else "It is not stopped."
        return review_obstacle(item, self.status_of(act))

    def status_of(self, act: Act) -> ReviewStatus:
        """Return the status that an act gives."""
        return next(status for status, each in self.decisions.items() if each is act)

    def acts_on(self, item: Any) -> list[Act]:
        """Return what can be done with one item as it stands."""
        decisions = [act for status, act in self.decisions.items() if status != item.review_status]
        return [*decisions, RESUME if item.stopped_at else STOP]

    def impact(self, request: HttpRequest, items: Sequence[Any], act: Act) -> Impact | None:
        """Return what it would do that nobody can call them any more."""
        return impact_of_end(*items, user=cast(User, request.user)) if act.grave else None

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        """Show the page of one item, with what a reviewer can do there."""
        item = context.get("original")
        if item is not None:
            changes = self.has_change_permission(request, item)
            context["acts"] = self.acts_on(item) if changes else []
            context["open_proposal"] = self.figures_of([item])[item.pk].proposal
            context["changelist_url"] = reverse(
                f"admin:{self.opts.label_lower.replace('.', '_')}_changelist"
            )
        return super().render_change_form(request, context, *args, **options)

    @admin.display(description="Review", ordering="review_status")
    def review(self, item: Any) -> SafeString:
        return badge(item.review_status, item.get_review_status_display())

    @admin.display(description="Calls, 30 d")
    def calls(self, item: Any) -> str:
        return f"{item.figures.calls:,}"

    @admin.display(description="Succeeded")
    def success(self, item: Any) -> str:
        return str(item.figures.success)

    @admin.display(description="Waits for review")
    def waits(self, item: Any) -> SafeString | str:
        if item.figures.proposal is None:
            return ""
        url = reverse("admin:registry_proposal_change", args=[item.figures.proposal])
        return format_html('<a href="{}">Decide</a>', url)


class StoppedFilter(admin.SimpleListFilter):
    """Tells what was stopped everywhere from what runs."""

    title = "stop"
    parameter_name = "stopped"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Stopped"), ("no", "Not stopped")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("yes", "no"):
            return queryset
        return queryset.filter(stopped_at__isnull=self.value() == "no")


LINES_OPEN = 8
"""A longer JSON value is folded, so that it does not bury what stands below it."""


def shown_json(name: str) -> Callable[[Any, Any], SafeString | None]:
    """Return what shows a JSON field of a row, as an attribute of its admin; a long one folded."""

    @admin.display(description=name.replace("_", " ").capitalize())
    def show(_: Any, item: Any) -> SafeString | None:
        value = getattr(item, name)
        if not value:
            return None
        told = json.dumps(value, ensure_ascii=False, indent=2)
        lines = told.count("\n") + 1
        if lines <= LINES_OPEN:
            return format_html('<pre tabindex="0">{}</pre>', told)
        return format_html(
            '<details class="disclosure"><summary>{} lines</summary>'
            '<pre tabindex="0">{}</pre></details>',
            lines,
            told,
        )

    return show


def badge(state: str, words: str) -> SafeString:
    """Return a state as a badge of the design system."""
    return format_html('<span class="badge is-{}">{}</span>', state, words)
