"""Work out the vectors of tools and keep them, in batches that several workers share.

A batch is claimed first, for a minute; what changed while it was worked out stays due.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from registry.models import Tool, ToolVector
from registry.models.triggers import VECTOR_CHANNEL
from registry.search.catalogue import document_of
from registry.search.dense.encoder import Encoder, EncoderRefused, EncoderUnavailable, Floats
from registry.search.dense.texts import digest_of, text_of
from registry.search.dense.vectors import packed

BATCH = 50
"""Tools that are claimed at once: a notification has room for the ids of 200."""

LEASE = timedelta(minutes=1)
REST = timedelta(seconds=30)
"""How long a batch is left alone after its encoder failed."""


def vectors_ensure(encoder: Encoder, *, again: bool = False) -> int:
    """Mark due what another encoder worked out, and tools that have no row; return how many wait.

    With `again` everything is due, the texts that did not change included.
    """
    now = timezone.now()
    ToolVector.objects.filter(_of_others(encoder)).update(due_at=now)
    if again:
        ToolVector.objects.update(encoder="", vector=None, digest=None, due_at=now)
    without = Tool.objects.filter(deleted_at=None, vector=None).values_list("pk", flat=True)
    made = [ToolVector(tool_id=pk, due_at=now) for pk in without.iterator()]
    ToolVector.objects.bulk_create(made, batch_size=1_000, ignore_conflicts=True)
    return ToolVector.objects.filter(due_at__isnull=False).count()


def vectors_round(encoder: Encoder, *, batch: int = BATCH) -> int:
    """Work out the vectors of some tools that are due; return how many are done with.

    Raises EncoderUnavailable where the encoder gives none now: they stay due.
    """
    ToolVector.objects.filter(_of_others(encoder)).update(due_at=timezone.now())
    claimed = _claimed(batch)
    if not claimed:
        return 0
    tools = Tool.objects.filter(pk__in=claimed).select_related("package")
    texts = {tool.pk: text_of(document_of(tool)) for tool in tools}
    try:
        vectors, refused = _encoded(encoder, _changed(encoder, texts))
    except EncoderUnavailable:
        ToolVector.objects.filter(pk__in=claimed).update(claimed_until=timezone.now() + REST)
        raise
    _store(encoder, claimed, texts, vectors, refused)
    return len(claimed)


def at_work() -> bool:
    """Say whether a worker has claimed tools at this moment."""
    waiting = ToolVector.objects.filter(due_at__isnull=False)
    return waiting.filter(claimed_until__gt=timezone.now()).exists()


def _of_others(encoder: Encoder) -> Q:
    """Return what picks rows of another encoder; two ranges, which the index can answer."""
    name = encoder.name
    return Q(due_at=None) & (Q(encoder__lt=name) | Q(encoder__gt=name))


@transaction.atomic
def _claimed(batch: int) -> dict[UUID, datetime]:
    """Claim tools that are due; return since when each is."""
    now = timezone.now()
    free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    due = ToolVector.objects.filter(free, due_at__isnull=False).select_for_update(skip_locked=True)
    found = due.order_by("due_at").values_list("pk", "due_at")[:batch]
    claimed = {pk: since for pk, since in found if since is not None}
    ToolVector.objects.filter(pk__in=claimed).update(claimed_until=now + LEASE)
    return claimed


def _changed(encoder: Encoder, texts: Mapping[UUID, str]) -> dict[UUID, str]:
    """Return the texts that the encoder has not seen."""
    known = dict(
        ToolVector.objects.filter(pk__in=texts, encoder=encoder.name).values_list("pk", "digest")
    )
    return {pk: text for pk, text in texts.items() if _bytes(known.get(pk)) != digest_of(text)}


def _encoded(
    encoder: Encoder, texts: Mapping[UUID, str]
) -> tuple[dict[UUID, Floats], dict[UUID, str]]:
    """Return vectors, and why some texts were refused, which are then given one by one."""
    if not texts:
        return {}, {}
    try:
        return dict(zip(texts, encoder.encode(list(texts.values())), strict=True)), {}
    except EncoderRefused as refusal:
        if len(texts) == 1:
            return {}, dict.fromkeys(texts, str(refusal))
    vectors: dict[UUID, Floats] = {}
    refused: dict[UUID, str] = {}
    for pk, text in texts.items():
        one, none = _encoded(encoder, {pk: text})
        vectors |= one
        refused |= none
    return vectors, refused


@transaction.atomic
def _store(
    encoder: Encoder,
    claimed: Mapping[UUID, datetime],
    texts: Mapping[UUID, str],
    vectors: Mapping[UUID, Floats],
    refused: Mapping[UUID, str],
) -> None:
    # a row that is locked belongs to a change of its tool, which makes it due again
    found = ToolVector.objects.filter(pk__in=claimed).select_for_update(skip_locked=True)
    rows = list(found.order_by("pk"))
    for row in rows:
        if row.pk in vectors or row.pk in refused:
            vector = vectors.get(row.pk)
            row.encoder, row.digest = encoder.name, digest_of(texts[row.pk])
            row.vector = None if vector is None else packed(vector)
            row.problem = refused.get(row.pk, "")[:500]
        if row.due_at == claimed[row.pk]:
            row.due_at = None
        row.claimed_until = None
    names = ["encoder", "digest", "vector", "problem", "due_at", "claimed_until"]
    ToolVector.objects.bulk_update(rows, names)
    _tell([row.pk for row in rows if row.pk in vectors or row.pk in refused])


def _tell(tool_ids: Sequence[UUID]) -> None:
    if tool_ids:
        with connection.cursor() as cursor:
            told = ",".join(map(str, tool_ids))
            cursor.execute("SELECT pg_notify(%s, %s)", [VECTOR_CHANNEL, told])


def _bytes(value: bytes | memoryview | None) -> bytes | None:
    return None if value is None else bytes(value)
