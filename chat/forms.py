"""What a person fills in to talk to an agent."""

from typing import Any, cast

from django import forms
from django.contrib.auth.models import User

from agents.models import Agent
from agents.selectors import agents_visible_to
from chat.models.bench import LONGEST_PROMPT, LONGEST_TOOL

CONVERSATION, AGENT, PERSON = "conversation", "agent", "me"
"""For how much a value holds."""


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


class VariableForm(forms.Form):
    """A variable of one conversation; the service says whether it can be set."""

    name = forms.CharField(required=False)
    value = forms.CharField(required=False)


class MissingForm(forms.Form):
    """The values that a tool lacks, and for how much they are to hold."""

    keep = forms.ChoiceField(label="Keep for", widget=forms.RadioSelect, initial=CONVERSATION)

    def __init__(self, *args: Any, names: list[str], agent: Agent, user: User, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for name in names:
            self.fields[name] = forms.CharField(
                label=name, widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
            )
        self.order_fields([*names, "keep"])
        choices = [(CONVERSATION, "This conversation")]
        if agent.owner_id == user.pk:
            choices.append((AGENT, f"The agent {agent.name}"))
        choices.append((PERSON, "All my agents"))
        cast("forms.ChoiceField", self.fields["keep"]).choices = choices


class TitleForm(forms.Form):
    """A conversation's new title."""

    title = forms.CharField(required=False)


class BenchCaseForm(forms.Form):
    """A prompt and the tool that it should call; the service says whether it can be kept."""

    prompt = forms.CharField(
        label="Prompt",
        max_length=LONGEST_PROMPT,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="What a person would ask.",
    )
    tool = forms.CharField(
        label="Should call",
        max_length=LONGEST_TOOL,
        required=False,
        help_text="The tool's name as the model calls it, such as calculator; empty: none.",
    )


class BenchImportForm(forms.Form):
    """Cases that are pasted."""

    lines = forms.CharField(
        label="Cases",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="One a line: the prompt, a tab, the tool (or “none”). Two columns of a "
        "spreadsheet paste like this.",
    )


class BenchModelForm(forms.Form):
    """The model that a bench is run with."""

    model = forms.CharField(
        label="Model", required=False, help_text="As LiteLLM has it; empty: the agent's own."
    )
