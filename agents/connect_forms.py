"""What people choose when they connect a client."""

import json
from datetime import timedelta
from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils import timezone

from agents.forms import ScopesField
from agents.oauth.scopes import FIRST
from config.lib.types import JsonObject
from registry.schema_samples import required_samples
from registry.specs import ToolSpec

DAYS = ((7, "in a week"), (30, "in a month"), (90, "in three months"), (365, "in a year"))


class ClientTokenForm(forms.Form):
    """A token for one client."""

    client = forms.ChoiceField(label="For")
    days = forms.TypedChoiceField(label="It expires", choices=DAYS, coerce=int, initial=90)
    tool_scopes = ScopesField(
        label="Scopes of tools",
        help_text="What the tools require that it calls, beside tools:read and tools:run.",
    )

    def __init__(self, *args: Any, clients: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["client"].choices = clients  # type: ignore[attr-defined]

    def asked(self, place: str) -> dict[str, Any]:
        """Return what `token_create` takes; the token is named after the client and the place."""
        given = self.cleaned_data
        named = dict(self.fields["client"].choices)[given["client"]]  # type: ignore[attr-defined]
        return {
            "name": f"{named}: {place}",
            "scopes": [*FIRST, *given["tool_scopes"]],
            "expires_at": timezone.now() + timedelta(days=given["days"]),
        }


class TrialForm(forms.Form):
    """How a connection is tried."""

    token = forms.CharField(
        required=False,
        max_length=4000,
        validators=[RegexValidator(r"\A[!-~]*\Z", "This is no token.")],
        help_text="Empty: one that lives as long as the test.",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )
    tool = forms.ChoiceField(label="Call a tool that only reads", required=False)
    arguments = forms.CharField(
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 2, "class": "code-input", "spellcheck": "false"}),
        help_text="As JSON. Empty: a value for each that it requires.",
    )

    def __init__(self, *args: Any, readers: list[ToolSpec], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._schemas = {spec.wire_name: spec.input_schema for spec in readers}
        choices = [("", "None"), *((spec.wire_name, spec.wire_name) for spec in readers)]
        self.fields["tool"].choices = choices  # type: ignore[attr-defined]

    def clean_arguments(self) -> JsonObject:
        """Read the arguments; those that are empty come of the tool's schema."""
        said = self.cleaned_data["arguments"].strip()
        if not said:
            schema = self._schemas.get(self.cleaned_data.get("tool", ""))
            return required_samples(dict(schema)) if schema else {}
        try:
            read = json.loads(said)
        except (ValueError, RecursionError):
            raise forms.ValidationError("This is not JSON.") from None
        if not isinstance(read, dict):
            raise forms.ValidationError('Write an object, such as {"expression": "6*7"}.')
        return read


class McpToolsForm(forms.Form):
    """What MCP clients of an agent are told of."""

    mcp_tools = forms.CharField(max_length=16)
