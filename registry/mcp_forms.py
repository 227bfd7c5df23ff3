"""What a person fills in to import an MCP server."""

import re
import shlex

from django import forms

from registry.forms import PLAIN_TEXT


class McpImportForm(forms.Form):
    """Which MCP server to import, and what it is started with."""

    server = forms.CharField(
        label="Address or package",
        max_length=2000,
        widget=forms.TextInput(attrs={"placeholder": "https://… or npm:@scope/name", **PLAIN_TEXT}),
        help_text="The address of a remote server, or npm:PACKAGE or pypi:PACKAGE.",
    )
    name = forms.CharField(
        label="Name",
        max_length=214,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "after itself", **PLAIN_TEXT}),
        help_text="What to call it here.",
    )
    bearer = forms.CharField(
        label="Sign-in variable",
        max_length=100,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "none", **PLAIN_TEXT}),
        help_text="For an address: the credential sent as its bearer token.",
    )
    arguments = forms.CharField(
        label="Arguments",
        max_length=4000,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "none", **PLAIN_TEXT}),
        help_text="For a package: what its command is started with, as in a shell.",
    )
    env = forms.CharField(
        label="Variables",
        max_length=2000,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "none", **PLAIN_TEXT}),
        help_text="For a package: the credentials it needs, by name, separated by spaces.",
    )

    def clean_arguments(self) -> list[str]:
        """Split the arguments as a shell does."""
        try:
            return shlex.split(self.cleaned_data["arguments"])
        except ValueError:
            raise forms.ValidationError("A quotation mark is not closed.") from None

    def clean_env(self) -> list[str]:
        """Split the names of the variables."""
        return [name for name in re.split(r"[\s,]+", self.cleaned_data["env"]) if name]
