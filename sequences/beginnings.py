"""Begin a draft with what came from elsewhere: a file, a template, or a model's proposal."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from config.lib.types import JsonObject, JsonSchema
from sequences.drafts import draft_begin
from sequences.forms.drafts import Draft
from sequences.forms.saved import draft_from_tool
from sequences.forms.step_tools import tools_in
from sequences.models import SampleInput, SequenceDraft
from sequences.portable import Resolved, resolved
from sequences.services import new_sequence


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A draft that was begun, those of the sequences it calls, and what is left to be done."""

    draft: SequenceDraft
    inner: tuple[SequenceDraft, ...] = ()
    notes: tuple[str, ...] = ()


@transaction.atomic
def draft_from_document(owner: User, whole: Resolved, *, label: str) -> Begun:
    """Begin a draft with a document as it was resolved; nothing is published.

    A sequence that comes with it and is not here begins a draft of its own: once it is published
    under its name, the step that calls it finds it.
    """
    document = whole.document
    draft = draft_begin(
        owner,
        form_of(
            owner,
            name=document.name,
            description=document.description,
            definition=whole.definition,
            input_schema=document.input_schema,
            scopes=document.required_scopes,
        ),
        label=label,
    )
    for sample in document.samples:
        SampleInput.objects.get_or_create(
            draft=draft, name=sample.name, defaults={"input": sample.input}
        )
    inner: list[SequenceDraft] = []
    notes = list(whole.notes)
    for match in whole.matches:
        within = match.named.document
        if match.state == "inside" and within is not None:
            begun = draft_from_document(owner, resolved(within, user=owner), label=label)
            inner += [begun.draft, *begun.inner]
            notes += [
                f"“{within.name}” came with it and is a draft of its own. Publish it first.",
                *begun.notes,
            ]
    return Begun(draft=draft, inner=tuple(inner), notes=tuple(notes))


def form_of(
    owner: User,
    *,
    name: str,
    description: str,
    definition: JsonObject,
    input_schema: JsonSchema,
    scopes: Sequence[str] = (),
) -> Draft:
    """Return what the builder holds of a sequence that is not saved anywhere."""
    tool = new_sequence(owner)
    tool.title, tool.description = name, description
    tool.input_schema, tool.required_scopes = input_schema, list(scopes)
    raw = definition.get("steps")
    steps = [step for step in raw if isinstance(step, dict)] if isinstance(raw, list) else []
    tool.definition = {**definition, "steps": steps}
    return draft_from_tool(tool, tools_in(owner, tool.definition))
