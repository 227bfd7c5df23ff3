"""What a person fills in to talk to an agent."""

from typing import Any, cast

from django import forms
from django.contrib.auth.models import User

from agents.models import Agent
from agents.selectors import agents_visible_to


class StartForm(forms.Form):
    """Starts a conversation: with whom, and the first message."""

    agent = forms.ModelChoiceField(
        queryset=Agent.objects.none(),
        to_field_name="slug",
        empty_label=None,
        error_messages={"invalid_choice": "Choose one of the agents in the list."},
    )
    content = forms.CharField(
        required=False, widget=forms.Textarea(attrs={"rows": 3, "data-composer": True})
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast("forms.ModelChoiceField[Agent]", self.fields["agent"])
        field.queryset = agents_visible_to(user).order_by("name", "pk")


class MessageForm(forms.Form):
    """One message; the service says whether it can be sent."""

    content = forms.CharField(required=False)


class TitleForm(forms.Form):
    """A conversation's new title."""

    title = forms.CharField(required=False)
