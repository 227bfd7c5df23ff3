"""What a person fills in to import operations of an OpenAPI document."""

from typing import Any

from django import forms
from django.http import QueryDict

from config.lib.types import JsonObject
from registry.forms import PLAIN_TEXT
from registry.importing.openapi.document import LARGEST_DOCUMENT


class OpenApiDocumentForm(forms.Form):
    """Where the document is: at an address, or in a file."""

    url = forms.CharField(
        label="Address of the document",
        max_length=2000,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "https://…/openapi.json", **PLAIN_TEXT}),
        help_text="OpenAPI 3.0 or 3.1, as JSON or YAML. It is fetched now.",
    )
    file = forms.FileField(
        label="Or a file",
        required=False,
        allow_empty_file=True,
        help_text=f"At most {LARGEST_DOCUMENT // 1_000_000} MB.",
    )

    def clean(self) -> None:
        """Take exactly one of the two."""
        url, file = self.cleaned_data.get("url"), self.cleaned_data.get("file")
        if bool(url) == bool(file):
            self.add_error("url", "Write the document's address, or choose a file.")
        elif file and file.size > LARGEST_DOCUMENT:
            self.add_error("file", f"It has {file.size:,} bytes; at most {LARGEST_DOCUMENT:,} fit.")


class OperationsForm(forms.Form):
    """What to call the package, where its requests go, and which operations it takes."""

    name = forms.CharField(
        label="Name",
        max_length=100,
        widget=forms.TextInput(attrs=PLAIN_TEXT),
        help_text="What to call it here. Its credentials are named after it.",
    )
    server = forms.CharField(
        label="Server",
        max_length=2000,
        widget=forms.TextInput(
            attrs={"list": "servers", "placeholder": "https://api.example.com/v1", **PLAIN_TEXT}
        ),
        help_text="Where the requests go: one of the document's servers, or another address.",
    )

    def __init__(self, data: QueryDict | None, *, initial: JsonObject, **more: Any) -> None:
        super().__init__(data, initial=initial, label_suffix="", **more)
