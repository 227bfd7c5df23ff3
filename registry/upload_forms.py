"""What a person fills in to upload a Python module."""

from typing import Any

from django import forms

from registry.forms import PLAIN_TEXT, PythonSettingsForm
from registry.importing.uploads import LARGEST_UPLOAD

MORE = ("file", "name")


class UploadForm(PythonSettingsForm):
    """A Python module, and how it is loaded."""

    file = forms.FileField(
        label="File",
        allow_empty_file=True,
        widget=forms.ClearableFileInput(attrs={"accept": ".py,.zip,.whl"}),
        help_text="One .py file, or a .zip or .whl of one package; "
        f"at most {LARGEST_UPLOAD // 1_000_000} MB.",
        error_messages={"required": "Choose a file."},
    )
    name = forms.CharField(
        label="Name",
        max_length=100,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "that of the file", **PLAIN_TEXT}),
        help_text="Of a single file: what the module is called here.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", "prefix": "upload", **kwargs})

    def clean_file(self) -> Any:
        """Refuse what is too large before it is read."""
        file = self.cleaned_data["file"]
        if file.size > LARGEST_UPLOAD:
            raise forms.ValidationError(
                f"It has {file.size:,} bytes; at most {LARGEST_UPLOAD:,} fit."
            )
        return file

    @property
    def package_fields(self) -> list[forms.BoundField]:
        """The fields that say which module."""
        return [self[name] for name in MORE]

    @property
    def python_fields(self) -> list[forms.BoundField]:
        """The fields that say how it is loaded."""
        return [self[name] for name in PythonSettingsForm.base_fields]

    @property
    def python_filled(self) -> bool:
        """Tell whether anything about the loading was filled in, or is wrong."""
        return any(field.errors or field.value() for field in self.python_fields)
