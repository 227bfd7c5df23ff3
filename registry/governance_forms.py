"""The forms with which a governor stops and limits."""

from typing import Any

from django import forms

from config.lib.errors import DomainError
from config.lib.form_errors import show_refusal
from registry.governing import DEAREST_CALL, LONGEST_CALL, MOST_CALLS, PATHS, Governed, governed_of
from registry.models import Tool
from registry.models.stoppable import LONGEST_REASON
from registry.scope_field import ScopesField


class ReasonForm(forms.Form):
    """Why something is changed."""

    use_required_attribute = False

    reason = forms.CharField(
        max_length=LONGEST_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": "Say in a few words why."},
    )

    def refuse(self, error: DomainError) -> None:
        """Show what the service refused, beside the fields that it names."""
        show_refusal(self, error, {path: name for name, path in PATHS.items()})


class StopForm(ReasonForm):
    """Why a tool or package is stopped, or runs again."""

    def __init__(self, data: Any = None, *, resumes: bool) -> None:
        super().__init__(data, label_suffix="")
        self.fields["reason"].help_text = (
            "It is kept in the history."
            if resumes
            else "Everybody who meets the stop reads it: people, models and programs."
        )


class GovernanceForm(ReasonForm):
    """What a governor decides of a tool."""

    required_scopes = ScopesField(
        label="Scopes it requires",
        help_text="Such as mail:send, separated by spaces. Only agents and tokens that are granted "
        "all of them may call it.",
    )
    calls_per_minute = forms.IntegerField(
        label="Calls a minute, for each caller",
        required=False,
        min_value=1,
        max_value=MOST_CALLS,
        help_text="Empty: the site's default. To let nobody call it, stop it.",
    )
    cost_per_call = forms.DecimalField(
        label="Cost of a call, in US dollars",
        required=False,
        min_value=0,
        max_value=DEAREST_CALL,
        max_digits=12,
        decimal_places=6,
        help_text="What the service behind it asks for one call; empty where nothing is known.",
    )
    timeout_seconds = forms.IntegerField(
        label="Time limit of a call, in seconds", min_value=1, max_value=LONGEST_CALL
    )
    field_order = (*Governed._fields, "reason")

    def __init__(self, data: Any = None, *, tool: Tool) -> None:
        super().__init__(data, label_suffix="", initial=governed_of(tool)._asdict())
        self.fields["required_scopes"].known = tool.required_scopes  # type: ignore[attr-defined]

    @property
    def governed(self) -> Governed:
        """Return what the form says; it must be valid."""
        return Governed(**{name: self.cleaned_data[name] for name in Governed._fields})
