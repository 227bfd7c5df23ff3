"""Show in a form what a service refused."""

from collections.abc import Mapping

from django import forms

from config.lib.errors import DomainError


def show_refusal(
    form: forms.BaseForm, error: DomainError, fields: Mapping[str, str] | None = None
) -> None:
    """Put each of an error's problems beside its field; where none has one, the error above all.

    A problem's path names its field, with or without `$.` before it; `fields` says which field
    stands for a path of another name.
    """
    known = fields or {}
    beside = [
        (known.get(problem["path"], problem["path"].removeprefix("$.")), problem["message"])
        for problem in error.extra.get("problems") or ()
    ]
    if not any(name in form.fields for name, _ in beside):
        form.add_error(None, f"{error.message} {error.hint}".strip())
        return
    for name, message in beside:
        form.add_error(name if name in form.fields else None, message)
