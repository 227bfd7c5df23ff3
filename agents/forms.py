"""What people fill in about agents, credentials and tokens."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.models import User

from agents.models import Agent
from agents.models.agent import AgentVisibility
from agents.selectors import agents_owned_by
from agents.tokens import SCOPES
from config.lib.errors import InvalidInput
from registry.roles import teams_of


def ids_of(values: list[str]) -> list[UUID]:
    """Read the ids of ticked tools; raise InvalidInput."""
    try:
        return [UUID(value) for value in values]
    except ValueError:
        raise InvalidInput(
            "One of the chosen tools is not a tool.", "Reload the page and choose again."
        ) from None


DEFAULTED = ("schema_budget", "max_steps", "approval_default", "tool_protocol", "mcp_tools")
"""Fields of an agent that may be left out of its form."""

GROUPS: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("What it is", ("name", "description", "instructions"), False),
    ("Model", ("model",), False),
    ("Tools", ("discovery_mode", "code_execution", "mcp_tools"), False),
    ("Approvals", ("approval_default", "scopes"), False),
    ("Sharing", ("visibility", "team"), False),
    (
        "Advanced",
        ("fallback_models", "tool_protocol", "max_found_tools", "schema_budget", "max_steps"),
        True,
    ),
)
"""`(title, fields, folded)` of the agent's form."""


class ScopesField(forms.CharField):
    """Scopes with spaces or commas between them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, **options)

    def clean(self, value: str | None) -> list[str]:
        """Return the scopes in order, each once."""
        return sorted(set((value or "").replace(",", " ").split()))

    def prepare_value(self, value: list[str] | str | None) -> str:
        """Show a stored list as the person would type it."""
        return value if isinstance(value, str) else " ".join(value or [])


class ModelsField(forms.CharField):
    """Model strings, one a line."""

    widget = forms.Textarea(attrs={"rows": 2, "spellcheck": "false"})

    def clean(self, value: str | None) -> list[str]:
        """Return the lines that say something."""
        return [line.strip() for line in (value or "").splitlines() if line.strip()]

    def prepare_value(self, value: list[str] | str | None) -> str:
        """Show a stored list as the person would type it."""
        return value if isinstance(value, str) else "\n".join(value or [])


class AgentForm(forms.ModelForm[Agent]):
    """An agent's own fields; the rules live in `agents.services`."""

    scopes = ScopesField(
        label="Granted scopes",
        help_text="Tools that require other scopes are refused. Separate them by spaces.",
    )
    fallback_models = ModelsField(
        required=False,
        help_text="One a line, at most five; asked in turn when the model does not answer.",
    )

    class Meta:
        model = Agent
        fields = (
            "name",
            "description",
            "instructions",
            "model",
            "discovery_mode",
            "max_found_tools",
            "schema_budget",
            "max_steps",
            "approval_default",
            "fallback_models",
            "tool_protocol",
            "mcp_tools",
            "code_execution",
            "scopes",
            "visibility",
            "team",
        )
        labels = {
            "discovery_mode": "Which tools it may use",
            "max_found_tools": "Found tools per message",
            "schema_budget": "Tokens for tools",
            "max_steps": "Steps per message",
            "approval_default": "Where no rule fits",
            "tool_protocol": "How it calls tools",
            "code_execution": "Let it run code",
            "mcp_tools": "MCP clients are told of",
            "visibility": "Who may talk to it",
        }
        help_texts = {
            "description": "One line that tells you and your team what it is for.",
            "instructions": "Told to the model before every conversation.",
            "max_found_tools": "How many tools one search may add, 0 to 20.",
            "schema_budget": "What the descriptions of all its tools may take of a request, 500 to "
            "200,000; found tools that do not fit are left out.",
            "max_steps": "Requests to the model that one message may take, 1 to 50; then it stops "
            "and says so.",
            "approval_default": "Whether a person is asked before a call; rules and single tools "
            "are set on the page Approvals.",
            "tool_protocol": "Models without tool calls of their own write them in their text.",
            "code_execution": "It may write Python that calls its tools in loops and conditions. "
            "The code runs in the sandbox, and each call is checked like any other.",
            "mcp_tools": "Four tools take less room in a client's window than many; its page "
            "Connect says how much.",
            "team": "Only for agents that are shared with a team.",
        }
        widgets = {
            "instructions": forms.Textarea(attrs={"rows": 6}),
            "discovery_mode": forms.RadioSelect,
            "mcp_tools": forms.RadioSelect,
            "approval_default": forms.RadioSelect,
            "visibility": forms.RadioSelect,
        }

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in DEFAULTED:
            self.fields[name].required = False
        teams = teams_of(user)
        self.fields["team"].queryset = teams  # type: ignore[attr-defined]
        if not teams.exists():
            del self.fields["team"]
            self.fields["visibility"].choices = [  # type: ignore[attr-defined]
                (AgentVisibility.PRIVATE.value, AgentVisibility.PRIVATE.label)
            ]

    def clean(self) -> dict[str, Any]:
        """Leave out what is blank and has a default: the agent keeps what it has."""
        given = super().clean() or {}
        return {name: value for name, value in given.items() if name not in DEFAULTED or value}

    def groups(self) -> list[tuple[str, list[forms.BoundField], bool]]:
        """Return `(title, fields, folded)` in the order of the page; what has a problem is open."""
        shown = [
            (title, [self[name] for name in names if name in self.fields], folded)
            for title, names, folded in GROUPS
        ]
        return [
            (title, fields, folded and not any(field.errors for field in fields))
            for title, fields, folded in shown
        ]

    def _post_clean(self) -> None:
        """Leave the model's own validation to the service, which does it once for all callers."""


class CredentialForm(forms.Form):
    """A secret under an environment name."""

    name = forms.CharField(
        label="Variable",
        max_length=100,
        help_text="The name that the tool's page gives, such as EXA_API_KEY.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    value = forms.CharField(
        max_length=10_000,
        strip=True,
        help_text="Stored encrypted and never shown again.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    agent = forms.ModelChoiceField(
        queryset=Agent.objects.none(),
        required=False,
        empty_label="All my agents",
        label="For",
        help_text="An agent's own value wins over the one for all agents.",
        to_field_name="slug",
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["agent"].queryset = agents_owned_by(user)  # type: ignore[attr-defined]


class ProgramForm(forms.Form):
    """A new program of an agent."""

    name = forms.CharField(max_length=80, help_text="Where it runs, such as Nightly report.")


class TokenForm(forms.Form):
    """A new personal API token."""

    name = forms.CharField(max_length=80, help_text="Which program will use it.")
    scopes = forms.MultipleChoiceField(
        choices=[(scope, f"{scope} — {meaning}") for scope, meaning in SCOPES.items()],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None ticked: it may do all that you may.",
    )
    tool_scopes = ScopesField(
        label="Scopes of tools",
        help_text="What tools require that the program calls, such as mail:send. "
        "With nothing ticked above it has them all.",
    )
    expires_at = forms.DateTimeField(
        label="Expires",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="Empty: never.",
    )

    def clean(self) -> dict[str, Any]:
        """Put both kinds of scopes together; those of tools are of no use without running them."""
        given = self.cleaned_data
        of_tools = given.pop("tool_scopes", [])
        if of_tools and "tools:run" not in given.get("scopes", []):
            self.add_error("tool_scopes", "Tick “tools:run” too; without it no tool can be called.")
        given["scopes"] = [*given.get("scopes", []), *of_tools]
        return given
