"""What a person fills in about an event subscription."""

from typing import Any

from django import forms
from django.contrib.auth.models import User

from registry.forms import PLAIN_TEXT
from registry.models import EventSubscription
from registry.models.event_types import EventType
from registry.notify.hearing import may_review
from registry.notify.sending import LONGEST_URL
from registry.notify.subscriptions import LONGEST_NOTE, SubscriptionPlan


class EventSubscriptionForm(forms.Form):
    """Where events go, which, and of what."""

    use_required_attribute = False

    url = forms.CharField(
        label="Address",
        max_length=LONGEST_URL,
        widget=forms.TextInput(
            attrs={"type": "url", "placeholder": "https://example.com/events", **PLAIN_TEXT}
        ),
        help_text="Events are posted here as JSON, signed.",
    )
    types = forms.MultipleChoiceField(
        label="Events",
        choices=EventType.choices,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )
    note = forms.CharField(
        required=False,
        max_length=LONGEST_NOTE,
        help_text="What the program at this address is for.",
    )
    tool = forms.CharField(
        label="Only of this tool or sequence",
        required=False,
        max_length=64,
        widget=forms.TextInput(attrs=PLAIN_TEXT),
        help_text="Its wire name. Empty: of all.",
    )
    agent = forms.CharField(
        label="Only runs that this agent started",
        required=False,
        max_length=80,
        widget=forms.TextInput(attrs=PLAIN_TEXT),
        help_text="The short name of one of your agents. Empty: whoever started them.",
    )

    def __init__(
        self, data: Any = None, *, user: User, subscription: EventSubscription | None = None
    ) -> None:
        initial = _initial(subscription) if subscription else {}
        super().__init__(data, initial=initial, label_suffix="")
        if not may_review(user):
            types = self.fields["types"]
            assert isinstance(types, forms.MultipleChoiceField)  # noqa: S101 - as declared above
            types.choices = [
                each for each in EventType.choices if each[0] != EventType.REVIEW_OPENED
            ]

    @property
    def plan(self) -> SubscriptionPlan:
        """Return what a valid form asks for."""
        return SubscriptionPlan(**self.cleaned_data)


def _initial(subscription: EventSubscription) -> dict[str, Any]:
    tool = subscription.tool
    return {
        "url": subscription.url,
        "types": subscription.types,
        "note": subscription.note,
        "tool": tool.wire_name if tool else "",
        "agent": str(subscription.agent_id or ""),
    }
