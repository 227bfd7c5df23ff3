"""The product as schemathesis sees it: its document, its application, and one person's things."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import schemathesis
from django.contrib.auth.models import User
from django.core.wsgi import get_wsgi_application
from django.db import transaction
from drf_spectacular.generators import SchemaGenerator
from schemathesis.config import SchemathesisConfig

from agents.tokens import token_create
from tests.flows.hostility import belongings_of

STREAMS = r"/events/$"
"""Left out: an answer without an end cannot be read whole; tests of the streams follow them."""

EXAMPLES = int(os.environ.get("OUTFITTER_FUZZ_EXAMPLES", "1"))
"""Made-up requests of each kind by operation; for a long run set it to 50, say."""

CONFIG: dict[str, Any] = {
    "seed": 8,
    "generation": {
        "max-examples": EXAMPLES,
        "deterministic": True,
        "database": "none",
        "with-security-parameters": False,  # the token is the test's own
        "allow-x00": False,  # JSON Schema cannot say that PostgreSQL keeps no NUL
    },
    # what a domain rule refuses is 400, too: `keeps_its_word` tells the one from the other
    "checks": {"positive_data_acceptance": {"enabled": False}},
}
STRUCTURAL = ("The request body is not valid.", "The query parameters are not valid.")
"""What a refusal says whose reason is the form of the request: the document must tell that form."""


def keeps_its_word(_: Any, response: Any, case: Any) -> None:
    """Fail where a request is refused for its form that is as the document describes it."""
    if response.status_code != 400 or not is_as_described(case) or has_empty_file(case):
        return
    body = response.json()
    assert body["message"] not in STRUCTURAL, f"Refused, though as described: {body}"


def follows_a_stream(context: Any) -> bool:
    """Say whether an operation may answer with a stream, which ends when some worker is done."""
    answers = context.operation.definition.raw["responses"].values()
    return any("text/event-stream" in answer.get("content", {}) for answer in answers)


def has_empty_file(case: Any) -> bool:
    """Say whether a form has a part without content, which Werkzeug's client does not end: the
    line break before the next boundary is missing, so that no server finds the part."""
    is_form = case.media_type == "multipart/form-data" and isinstance(case.body, dict)
    return is_form and not all(case.body.values())


def is_as_described(case: Any) -> bool:
    """Say whether no part of a request was made wrong on purpose."""
    return not (case.meta and any(part.mode.is_negative for part in case.meta.components.values()))


def document() -> dict[str, Any]:
    """Return the OpenAPI document."""
    made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return made


def described() -> Any:
    """Return the product as its document describes it, without the streams."""
    schema = schemathesis.openapi.from_dict(
        document(), config=SchemathesisConfig.from_dict(dict(CONFIG))
    )
    schema.app = get_wsgi_application()
    return schema.exclude(path_regex=STREAMS)


def make_world() -> dict[str, Any]:
    """Make one of everything for a person who may do everything; return its parameters."""
    person = User.objects.create_superuser("alice", password="secret-alice")
    things = belongings_of(person)
    _, text = token_create(person, name="fuzz")
    return {**things, "token": text}


@contextmanager
def undone() -> Iterator[None]:
    """Take back what is written inside."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
