"""What a person fills in on the registry's pages."""

from django import forms


class PackageImportForm(forms.Form):
    """Which npm package to import."""

    name = forms.CharField(
        label="npm package",
        max_length=214,
        widget=forms.TextInput(
            attrs={
                "placeholder": "@scope/name",
                "autocapitalize": "none",
                "autocomplete": "off",
                "spellcheck": "false",
            }
        ),
    )
    version = forms.CharField(
        label="Version",
        max_length=64,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "newest", "autocomplete": "off"}),
        help_text="A version, a range or a tag.",
    )
