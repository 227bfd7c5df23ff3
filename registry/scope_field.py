"""The field in which a person writes scopes."""

from collections.abc import Collection
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from registry.scopes import scope_problems, scopes_in


class ScopesField(forms.CharField):
    """Scopes as words in one line."""

    def __init__(self, **options: Any) -> None:
        widget = forms.TextInput(
            attrs={"autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}
        )
        super().__init__(**{"required": False, "widget": widget, **options})
        self.known: Collection[str] = ()
        """Scopes that stand already, whatever their form."""

    def clean(self, value: str | list[str] | None) -> list[str]:
        """Return the scopes in order, each once; say what is wrong with one that is none."""
        scopes = scopes_in(value) if isinstance(value, str) else sorted(set(value or []))
        if problems := scope_problems(scopes, self.known):
            raise ValidationError(problems)
        return scopes

    def prepare_value(self, value: list[str] | str | None) -> str:
        """Show a stored list as the person would type it."""
        return value if isinstance(value, str) else " ".join(value or [])

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare what is meant, not how it is written."""
        return scopes_in(self.prepare_value(initial)) != scopes_in(self.prepare_value(data))
