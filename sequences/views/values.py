"""Read values of steps for a page: short ones whole, of long ones the beginning and the size."""

import json
from dataclasses import dataclass

from django.db.models import Case, F, Func, IntegerField, JSONField, Q, QuerySet, TextField, When
from django.db.models.functions import Cast, Left

from config.lib.types import JsonValue
from registry.media import Media, media_in, without_media
from sequences.models import RunStep

LONGEST_SHOWN = 6_000
"""Bytes of JSON that the page of a run shows of one value; the rest is downloaded."""

LARGEST_MEDIA = 1_500_000
"""Bytes of an output that is read whole for the pictures in it."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A value as a page shows it; `size` is in bytes of JSON."""

    text: str
    size: int
    is_cut: bool
    media: tuple[Media, ...] = ()


def pretty(value: JsonValue) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def shown(value: JsonValue, longest: int = LONGEST_SHOWN) -> Shown:
    """Return a value that was read whole as it is shown."""
    text = pretty(without_media(value))
    size = len(text.encode("utf-8", "replace"))
    media = tuple(media_in(value))
    if size <= longest:
        return Shown(text=text, size=size, is_cut=False, media=media)
    return Shown(text=f"{text[:longest]}\n…", size=size, is_cut=True, media=media)


def with_values(steps: QuerySet[RunStep]) -> QuerySet[RunStep]:
    """Have steps read without long values; `input_of` and `output_of` show what was read.

    What is long stays in the database: a run with a hundred large outputs is looked at often.
    """
    for name in ("input", "output"):
        text = Cast(name, TextField())
        steps = steps.alias(**{f"{name}_json": text}).annotate(
            **{f"{name}_size": Func(text, function="octet_length", output_field=IntegerField())}
        )
        whole = Q(**{f"{name}_size__lte": LONGEST_SHOWN})
        if name == "output":
            pictures = Q(output_json__contains='"type": "image"')
            sounds = Q(output_json__contains='"type": "audio"')
            whole |= (pictures | sounds) & Q(output_size__lte=LARGEST_MEDIA)
        steps = steps.annotate(
            **{
                f"{name}_whole": Case(When(whole, then=F(name)), output_field=JSONField()),
                f"{name}_start": Case(When(~whole, then=Left(text, LONGEST_SHOWN))),
            }
        )
    return steps.defer("input", "output")


def input_of(step: RunStep) -> Shown | None:
    """Return what a step was given; None before it was."""
    return _read(step, "input")


def output_of(step: RunStep) -> Shown | None:
    """Return what a step gave; None where it gave nothing."""
    return _read(step, "output")


def _read(step: RunStep, name: str) -> Shown | None:
    size, start = getattr(step, f"{name}_size"), getattr(step, f"{name}_start")
    if size is None:
        return None
    if start is not None:
        return Shown(text=f"{start}\n…", size=size, is_cut=True)
    return shown(getattr(step, f"{name}_whole"))
