"""OpenAPI documents as they are kept: fetched or sent, read once, found again by their digest."""

import json
from datetime import timedelta
from urllib.parse import urlsplit
from uuid import UUID

import httpx
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef
from django.db.models.fields.json import KT
from django.utils import timezone

from config.lib.errors import InvalidInput, NotFound
from config.lib.jsontext import clean_text, storable
from config.lib.types import JsonObject, JsonValue
from registry.errors import UpstreamError
from registry.importing.access import reviews_packages
from registry.importing.openapi.document import (
    LARGEST_DOCUMENT,
    checked_document,
    read_document,
)
from registry.importing.openapi.overview import overview_of
from registry.importing.openapi.servers import server_problem
from registry.models import ApiDocument, ImportJob, Package, Proposal
from registry.models.job import OPEN
from registry.models.package import Ecosystem
from registry.models.proposal import ProposalState
from registry.outbound import Guard, fetch
from registry.schemas import canonical_digest

FETCH_SECONDS = 20
KEPT_FOR = timedelta(days=1)
"""For how long a document is kept that nothing was imported from."""

MEDIA = "application/json, application/yaml, text/yaml, */*;q=0.5"


def document_fetch(url: str, *, user: User | None) -> ApiDocument:
    """Fetch a document through the guarded client and keep it.

    Raises InvalidInput, InvalidDocument, HostRefused and what else keeps a server from answering.
    """
    url = checked_url(url)
    return document_keep(document_at(url), user=user, url=url)


def document_at(url: str) -> JsonObject:
    """Fetch the document at a checked address without keeping it; raises as `document_fetch`."""
    request = httpx.Request("GET", url, headers={"Accept": MEDIA, "User-Agent": "Outfitter"})
    answer = fetch(request, seconds=FETCH_SECONDS, guard=Guard(max_bytes=LARGEST_DOCUMENT))
    if answer.status != httpx.codes.OK:
        raise UpstreamError(
            f"{answer.host} answered {answer.status} instead of the OpenAPI document.",
            "Check the address; a document behind a sign-in can be sent as a file.",
        )
    return read_document(answer.body)


def document_upload(content: bytes, filename: str, *, user: User | None) -> ApiDocument:
    """Read the document in a file and keep it; raise InvalidDocument."""
    return document_keep(read_document(content), user=user, filename=filename)


def document_sent(document: JsonValue, *, user: User | None) -> ApiDocument:
    """Keep a document that was sent as JSON, or as the text of one; raise InvalidDocument."""
    read = read_document(document) if isinstance(document, str) else checked_document(document)
    return document_keep(read, user=user)


def document_keep(
    document: JsonObject, *, user: User | None, url: str = "", filename: str = ""
) -> ApiDocument:
    """Keep a checked document; the same one of the same person is kept once."""
    _clear()
    digest = canonical_digest(document)
    kept, _ = ApiDocument.objects.update_or_create(
        digest=digest,
        url=url,
        filename=clean_text(filename)[:200],
        added_by=user,
        defaults={
            "title": " ".join(document["info"]["title"].split())[:200],
            "content": json.dumps(document, ensure_ascii=False),
            "overview": storable(overview_of(document, url)),
            "created_at": timezone.now(),
        },
    )
    return kept


def document_by_digest(digest: str) -> ApiDocument:
    """Return a kept document; raise NotFound when it was cleared away."""
    found = ApiDocument.objects.filter(digest=digest).order_by("-created_at", "pk").first()
    if found is None:
        raise NotFound("The OpenAPI document is not kept any more.", "Send it again.")
    return found


def document_for(user: User, document_id: UUID) -> ApiDocument:
    """Return a document that a person sent; one of somebody else's only for reviewers."""
    found = ApiDocument.objects.filter(pk=document_id).first()
    if found is None or (found.added_by_id != user.pk and not reviews_packages(user)):
        raise NotFound(
            "There is no such OpenAPI document, or it was cleared away.", "Send it again."
        )
    return found


def checked_url(url: str) -> str:
    """Return the address of a document; raise InvalidInput for what is none."""
    url = url.strip()
    try:
        plain = urlsplit(url)._replace(query="", fragment="").geturl()
    except ValueError:
        plain = url
    if problem := server_problem(plain):
        raise InvalidInput(
            problem, "Write the document's address, such as https://host/openapi.json."
        )
    return url.partition("#")[0]


def _clear() -> None:
    """Drop the old documents that no package was made of and no import or review waits for."""
    refers = {"ecosystem": Ecosystem.OPENAPI, "wanted": OuterRef("digest")}
    packages = Package.objects.annotate(wanted=KT("settings__digest")).filter(**refers)
    jobs = ImportJob.objects.annotate(wanted=KT("settings__digest")).filter(
        status__in=OPEN, **refers
    )
    waiting = Proposal.objects.annotate(wanted=KT("after__settings__digest")).filter(
        state=ProposalState.OPEN, package__ecosystem=Ecosystem.OPENAPI, wanted=OuterRef("digest")
    )
    old = ApiDocument.objects.filter(created_at__lt=timezone.now() - KEPT_FOR)
    old.filter(~Exists(packages), ~Exists(jobs), ~Exists(waiting)).delete()
