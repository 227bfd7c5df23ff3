"""Saved inputs to test a draft with."""

from django.db import IntegrityError, transaction

from config.lib.errors import Conflict, InvalidInput, NotFound
from config.lib.jsontext import clean_text, storable
from config.lib.types import JsonObject
from sequences.models import SampleInput, SequenceDraft

MOST = 50
LONGEST_NAME = 80


def sample_save(draft: SequenceDraft, name: str, given: JsonObject) -> SampleInput:
    """Keep an input under a name; one of the same name is replaced."""
    name = " ".join(clean_text(name).split())
    if not name or len(name) > LONGEST_NAME:
        raise InvalidInput(
            f"A sample has a name of 1 to {LONGEST_NAME} characters.", "Name it after its case."
        )
    if not draft.samples.filter(name=name).exists() and draft.samples.count() >= MOST:
        raise InvalidInput(f"A sequence has at most {MOST} samples.", "Take one out first.")
    try:
        with transaction.atomic():
            sample, _ = SampleInput.objects.update_or_create(
                draft=draft, name=name, defaults={"input": storable(given)}
            )
    except IntegrityError:
        raise Conflict("This sample was just saved elsewhere.", "Save it again.") from None
    return sample


def sample_of(draft: SequenceDraft, sample_id: int) -> SampleInput:
    """Return one sample of a draft, or raise NotFound."""
    sample = draft.samples.filter(pk=sample_id).first()
    if sample is None:
        raise NotFound("The draft has no such sample.", "Choose one of its samples.")
    return sample


def sample_delete(draft: SequenceDraft, sample_id: int) -> None:
    """Take a sample out; one that is gone already stays gone."""
    draft.samples.filter(pk=sample_id).delete()
