"""Show in a form what a service refused."""

from collections.abc import Mapping

from django import forms

from config.lib.errors import DomainError


def show_refusal(
    form: forms.BaseForm, error: DomainError, fields: Mapping[str, str] | None = None
) -> None:
    """Put each of an error's problems beside its field; one without a field above all of them.

    A problem's path names its field, with or without `$.` before it; `fields` says which field
    stands for a path of another name.
    """
    problems = error.extra.get("problems")
    if not problems:
        form.add_error(None, f"{error.message} {error.hint}".strip())
        return
    for problem in problems:
        path = problem["path"]
        name = (fields or {}).get(path, path.removeprefix("$."))
        form.add_error(name if name in form.fields else None, problem["message"])
