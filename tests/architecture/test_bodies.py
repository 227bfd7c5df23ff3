"""What a request's body may hold is described, and everything else in it refused."""

from collections.abc import Iterator
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from config.lib.api_bodies import Body

READ_WHOLE = {
    "AgentDocumentSerializer",
    "SequenceDocumentSerializer",
    "ToolWriteSerializer",
}
"""Documents that a parser of their own reads, which names what it does not know."""


def described_bodies() -> Iterator[tuple[str, type[Any]]]:
    """Yield every operation that describes a body by a serializer, as `POST /path`, with that."""
    generator: Any = SchemaGenerator()  # type: ignore[no-untyped-call]
    generator._initialise_endpoints()
    for path, regex, method, view in generator._get_paths_and_endpoints():
        schema = view.schema
        schema.path, schema.path_regex, schema.method = path, regex, method
        asked = schema.get_request_serializer()
        for body in asked.values() if isinstance(asked, dict) else [asked]:
            kind = body if isinstance(body, type) else type(body)
            if hasattr(kind, "to_internal_value"):
                yield f"{method} {path}", kind


def test_a_body_that_is_described_takes_nothing_else() -> None:
    bodies = list(described_bodies())
    assert len(bodies) > 40
    lax = {
        f"{operation}: {kind.__name__}"
        for operation, kind in bodies
        if not issubclass(kind, Body) and kind.__name__ not in READ_WHOLE
    }
    assert lax == set()


def test_only_documents_that_there_are_may_be_read_whole() -> None:
    assert {kind.__name__ for _, kind in described_bodies()} >= READ_WHOLE
