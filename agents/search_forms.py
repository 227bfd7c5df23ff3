"""What people fill in to say what a message should have found."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.http import QueryDict

from agents.forms import ids_of
from agents.models import SearchCase
from agents.models.search_case import LONGEST_QUERY, MOST_RECENT
from agents.search_cases import CaseDraft


class SearchCaseForm(forms.Form):
    """A labelled query; the tools are checkboxes of the page (`tools`)."""

    query = forms.CharField(
        label="Message",
        max_length=LONGEST_QUERY,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="What the person said, as they said it.",
    )
    recent = forms.CharField(
        label="Earlier messages",
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=f"What they had said before, one message a line, at most {MOST_RECENT}.",
    )
    nothing = forms.BooleanField(
        label="Nothing should be found",
        required=False,
        help_text="It is small talk, or no tool does this.",
    )

    def __init__(
        self, data: QueryDict | None = None, *, draft: CaseDraft, unsent: bool = False
    ) -> None:
        """Take what was sent; `unsent` means that it is to be shown again, not judged."""
        shown: dict[str, Any] = {
            "query": draft.query,
            "recent": "\n".join(draft.recent),
            "nothing": draft.saved and not draft.expected,
        }
        if data is not None and unsent:
            shown = data.dict()
        super().__init__(None if unsent else data, initial=shown)
        self._draft = draft
        self._sent = data

    def chosen(self) -> set[UUID]:
        """Return the ids of the tools that are ticked."""
        if self._sent is None:
            return set(self._draft.expected)
        return set(ids_of(self._sent.getlist("tools")))

    def clean(self) -> dict[str, Any]:
        """Refuse a form that names tools and says that there are none, or says neither."""
        values = super().clean() or {}
        if bool(self.chosen()) == bool(values.get("nothing")):
            self.add_error(
                None,
                "Choose either tools or “Nothing should be found”."
                if values.get("nothing")
                else "Choose the tools that it should have found, or “Nothing should be found”.",
            )
        return values

    def fields_of_case(self) -> dict[str, Any]:
        """Return what `case_create` and `case_update` take."""
        values = self.cleaned_data
        return {
            "query": values["query"],
            "recent": lines_of(values["recent"]),
            "expected": self.chosen(),
        }


def draft_of(case: SearchCase) -> CaseDraft:
    """Return a case as a form shows it."""
    return CaseDraft(
        query=case.query,
        recent=tuple(case.recent),
        expected=tuple(tool.pk for tool in case.expected.all()),
        saved=True,
    )


def lines_of(text: str) -> Sequence[str]:
    """Return the lines that say something."""
    return [line.strip() for line in text.splitlines() if line.strip()]
