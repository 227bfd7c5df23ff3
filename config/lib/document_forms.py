"""The form by which an exported document is brought in."""

from django import forms

from config.lib.errors import InvalidInput


class DocumentForm(forms.Form):
    """An exported document, as a file or pasted.

    `largest` bounds its characters, and `refused` is raised where that is not kept.
    """

    largest: int
    refused: type[InvalidInput]

    file = forms.FileField(
        required=False,
        help_text="The file that Export gave you.",
        widget=forms.ClearableFileInput(attrs={"accept": ".json,application/json"}),
    )
    document = forms.CharField(
        label="Or paste it",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 10, "spellcheck": "false", "class": "mono"}),
    )

    def text(self) -> str:
        """Return what was sent; raise `refused` where the file is too much or no text."""
        file = self.cleaned_data.get("file")
        if file is None:
            return str(self.cleaned_data.get("document") or "")
        if file.size > self.largest:
            raise self.refused(f"The file has more than {self.largest:,} bytes.")
        try:
            return str(file.read().decode())
        except UnicodeDecodeError:
            raise self.refused("The file is no text in UTF-8.") from None
