"""What a person fills in on the registry's pages."""

from django import forms

from config.lib.host_patterns import LONGEST_PATTERN


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


class PackageHostsForm(forms.Form):
    """Which hosts the tools of a package may reach; `hosts` is cleaned into a list."""

    hosts = forms.CharField(
        label="Allowed hosts",
        required=False,
        max_length=50 * LONGEST_PATTERN,
        widget=forms.Textarea(
            attrs={"rows": 5, "class": "code-input", "spellcheck": "false", "autocomplete": "off"}
        ),
        help_text="One in a line: host, host:port or *.host. Without a port: 80 and 443. "
        "Empty: no network.",
    )
    reason = forms.CharField(
        label="Why",
        required=False,
        max_length=300,
        help_text="Kept in the history of the package.",
    )

    def clean_hosts(self) -> list[str]:
        """Return one text a host."""
        return [line.strip() for line in self.cleaned_data["hosts"].splitlines() if line.strip()]
