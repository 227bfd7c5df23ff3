"""Read the audit, and say how long records are kept."""

from typing import Any, cast

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from config.lib.admin_lists import LongList, named
from config.lib.errors import InvalidInput
from registry.admin.base import ReadOnly
from registry.audit.calls import masked_by_name
from registry.audit.events import MODELS
from registry.audit.retention import policy_set, require_days
from registry.models import AuditEvent, RetentionPolicy
from registry.models.retention_policy import Records


class ModelFilter(admin.SimpleListFilter):
    """Asks for what events are about, of which there are a few; the table is not asked for them."""

    title = "model"
    parameter_name = "model"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(MODELS.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(model=self.value()) if self.value() else queryset


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnly, LongList, admin.ModelAdmin[AuditEvent]):
    """The page /audit/ has the filters; here an event stands as it is stored."""

    list_display = ("at", "actor_name", "source", "operation", "model", "object_label", "reason")
    list_filter = ("operation", "source", ModelFilter)
    search_fields = ("actor__username", "subject_id", "request_id")
    search_help_text = "A username, the id of what has the history, or the id of a request."
    list_select_related = ()
    ordering = ("-at", "-id")
    fields = (
        *("at", "actor_name", "source", "operation", "model", "object_id", "object_label"),
        *("subject_model", "subject_id", "reason", "method", "path", "request_id"),
        *("before", "after"),
    )
    readonly_fields = fields

    def searched(self, rows: QuerySet[AuditEvent], words: str) -> QuerySet[AuditEvent]:
        """Return what a person did, or what belongs to a thing or a request."""
        found = named(words, actor=User.objects.filter(username=words))
        ids = Q(subject_id=words) | Q(request_id=words)
        return rows.filter(ids if found == Q(pk=None) else found)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> AuditEvent | None:
        """Return an event without what stands under the name of a secret."""
        event = super().get_object(request, object_id, from_field)
        if event is not None:
            event.before, event.after = masked_by_name(event.before), masked_by_name(event.after)
        return event


class RetentionForm(forms.ModelForm[RetentionPolicy]):
    """How long records are kept, and why that changes."""

    reason = forms.CharField(
        max_length=500, widget=forms.Textarea(attrs={"rows": 2}), help_text="Why; it is audited."
    )

    def clean_keep_days(self) -> int | None:
        """Return the days, within what can be."""
        days: int | None = self.cleaned_data["keep_days"]
        try:
            require_days(Records(self.instance.records), days)
        except InvalidInput as error:
            raise ValidationError(error.message) from error
        return days


@admin.register(RetentionPolicy)
class RetentionPolicyAdmin(admin.ModelAdmin[RetentionPolicy]):
    list_display = ("records", "keep_days", "reason", "last_run_at", "last_deleted")
    fields = ("records", "keep_days", "reason", "last_run_at", "last_deleted")
    readonly_fields = ("records", "last_run_at", "last_deleted")
    form = RetentionForm
    ordering = ("records",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        data = form.cleaned_data
        policy_set(
            obj, keep_days=data["keep_days"], reason=data["reason"], by=cast(User, request.user)
        )
