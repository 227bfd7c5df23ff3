"""Decide on many things at once: what is chosen, what would be refused, one reason for all."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from config.lib.errors import DomainError
from registry.impact.parts import Impact
from registry.services import LONGEST_DECISION

MOST_AT_ONCE = 100
MOST_TOLD = 10


@dataclass(frozen=True, kw_only=True)
class Act:
    """Something that can be done to many: `done` is told of what it was done to."""

    name: str
    label: str
    done: str
    about: str
    grave: bool = False
    binds: bool = False
    """Whether it may be done only to what the page showed, as it was then."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """One row of the page: what it is, and why it would be refused, if it would."""

    item: Any
    title: str
    detail: str
    obstacle: str
    url: str
    seen: str = ""
    """What the page shows of it, for the form to send back."""


class ReasonForm(forms.Form):
    """Why something is decided; it is kept for good."""

    reason = forms.CharField(
        max_length=LONGEST_DECISION,
        widget=forms.Textarea({"rows": 3, "autofocus": True}),
        error_messages={"required": "Say in a few words why; it is kept."},
    )


class DecidesInBulk(admin.ModelAdmin[Any]):
    """An admin whose actions ask for a reason on a page between."""

    acts: ClassVar[Sequence[Act]] = ()

    def chosen(self, item: Any, act: Act) -> Chosen:
        """Say what an item is, and what stands in the way of doing this to it."""
        raise NotImplementedError

    def carry_out(self, item: Any, act: Act, *, by: User, reason: str) -> None:
        """Do it to one item; raise a DomainError where it cannot be done."""
        raise NotImplementedError

    def impact(self, request: HttpRequest, items: Sequence[Any], act: Act) -> Impact | None:
        """Return what doing it would do to whatever uses the tools; None where nothing can."""
        return None

    def seen_of(self, item: Any) -> str:
        """Return what changes when something else would be decided on than is shown."""
        return str(item.pk)

    def several(self, request: HttpRequest, queryset: QuerySet[Any], act: Act) -> HttpResponse:
        """Show the page between, or do what its form says and tell what came of it."""
        items = list(queryset[: MOST_AT_ONCE + 1])
        if len(items) > MOST_AT_ONCE:
            told = f"At most {MOST_AT_ONCE} can be decided on at once; choose fewer."
            self.message_user(request, told, messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        form = ReasonForm(request.POST if "decide" in request.POST else None)
        if form.is_bound and form.is_valid():
            self._do(request, items, act, form.cleaned_data["reason"])
            return self._back(request, items)
        return self._page(request, items, act, form)

    def _do(self, request: HttpRequest, items: list[Any], act: Act, reason: str) -> None:
        done, refused, seen = 0, list[str](), set(request.POST.getlist("seen"))
        for item in items:
            if act.binds and self.seen_of(item) not in seen:
                refused.append(f"{item} has changed since the page was shown. Look at it again.")
                continue
            try:
                self.carry_out(item, act, by=cast(User, request.user), reason=reason)
            except DomainError as error:
                refused.append(f"{item}: {error.message} {error.hint}".strip())
            else:
                done += 1
        if done:
            noun = self.opts.verbose_name if done == 1 else self.opts.verbose_name_plural
            self.message_user(request, f"{done} {noun} {act.done}.", messages.SUCCESS)
        for told in refused[:MOST_TOLD]:
            self.message_user(request, told, messages.ERROR)
        if len(refused) > MOST_TOLD:
            told = f"{len(refused) - MOST_TOLD} more were refused; they are as they were."
            self.message_user(request, told, messages.ERROR)

    def _back(self, request: HttpRequest, items: list[Any]) -> HttpResponse:
        """Go to the list, or to the one thing that it was done to from its own page."""
        if request.POST.get("from") == "page" and len(items) == 1:
            opts = self.opts
            name = f"{self.admin_site.name}:{opts.app_label}_{opts.model_name}_change"
            return HttpResponseRedirect(reverse(name, args=[items[0].pk]))
        return HttpResponseRedirect(request.get_full_path())

    def _page(
        self, request: HttpRequest, items: list[Any], act: Act, form: ReasonForm
    ) -> HttpResponse:
        rows = [replace(self.chosen(item, act), seen=self.seen_of(item)) for item in items]
        context = {
            **self.admin_site.each_context(request),
            "title": act.label,
            "opts": self.opts,
            "act": act,
            "rows": rows,
            "seen": [row.seen for row in rows] if act.binds else [],
            "refused": sum(bool(row.obstacle) for row in rows),
            "form": form,
            "from_page": request.POST.get("from") == "page",
            "action_url": request.get_full_path(),
            "impact": self.impact(request, items, act),
        }
        return TemplateResponse(request, "admin/registry/bulk.html", context)
