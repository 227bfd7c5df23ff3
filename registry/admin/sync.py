"""Govern which registries are looked through, and how often."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from config.lib.admin_lists import LongList
from registry.admin.base import ReadOnly
from registry.importing.sync.feeds import require_keyword
from registry.models import SyncFeed, SyncRun
from registry.models.sync import SyncKind


class SyncFeedForm(forms.ModelForm[SyncFeed]):
    """A keyword of npm's, or the packages that are here; never both."""

    class Meta:
        model = SyncFeed
        fields = ("kind", "keyword", "enabled", "every_minutes", "most_per_run")

    def clean(self) -> dict[str, Any]:
        """Ask for a keyword where one is needed, and for none elsewhere."""
        given = self.cleaned_data
        kind = given.get("kind", self.instance.kind)
        keyword = given.get("keyword", self.instance.keyword)
        if kind == SyncKind.KNOWN and keyword:
            self.add_error("keyword", "Leave it empty: every package that is here is looked up.")
        if kind == SyncKind.KEYWORD:
            try:
                require_keyword(keyword)
            except ValueError as error:
                self.add_error("keyword", str(error))
        return given


@admin.register(SyncFeed)
class SyncFeedAdmin(admin.ModelAdmin[SyncFeed]):
    form = SyncFeedForm
    list_display = ("__str__", "enabled", "every_minutes", "most_per_run", "last_at", "next_at")
    list_filter = ("enabled", "kind")
    ordering = ("kind", "keyword")

    def get_readonly_fields(
        self, request: HttpRequest, obj: SyncFeed | None = None
    ) -> tuple[str, ...]:
        """Keep what a feed looks for as it is: another keyword is another feed."""
        return ("kind", "keyword", "last_at", "next_at", "last_error") if obj else ()

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Let a feed that was just turned on be looked through soon."""
        if "enabled" in form.changed_data and obj.enabled:
            obj.next_at = None
        super().save_model(request, obj, form, change)


@admin.register(SyncRun)
class SyncRunAdmin(ReadOnly, LongList, admin.ModelAdmin[SyncRun]):
    list_display = ("started_at", "feed", "found", "new", "changed", "failed", "finished_at")
    list_filter = ("feed",)
    list_select_related = ("feed",)
    ordering = ("-started_at", "pk")
