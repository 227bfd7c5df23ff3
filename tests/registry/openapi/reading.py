"""Read documents for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from registry.importing.errors import InvalidDocument
from registry.importing.openapi.document import read_document
from registry.importing.openapi.operations import Built, Catalogue
from registry.importing.openapi.references import CannotTakeError

DOCUMENTS = Path(__file__).parent / "documents"
SERVER = "https://api.example"


def text_of(name: str) -> bytes:
    """Return a document of this folder."""
    return (DOCUMENTS / name).read_bytes()


def document_of(paths: Any, version: str = "3.0.3", **more: Any) -> dict[str, Any]:
    """Return a document with these paths."""
    info = {"title": "Test", "version": "1"}
    return {"openapi": version, "info": info, "paths": paths, **more}


def all_of(
    document: dict[str, Any], server: str = SERVER
) -> tuple[dict[str, Built], dict[str, str]]:
    """Return what each operation becomes, and why others cannot."""
    catalogue = Catalogue(document, package="petstore", server=server)
    built, refused = {}, {}
    for operation in catalogue.operations:
        try:
            built[operation.key] = catalogue.build(operation)
        except CannotTakeError as error:
            refused[operation.key] = f"{error.path}: {error.why}"
    return built, refused


def one(operation: dict[str, Any], *, method: str = "get", path: str = "/x", **more: Any) -> Built:
    """Return the tool of a document's only operation; raise CannotTakeError."""
    catalogue = Catalogue(
        document_of({path: {method: operation}}, **more), package="petstore", server=SERVER
    )
    return catalogue.build(catalogue.operations[0])


def problems_in(content: bytes | str) -> dict[str, str]:
    """Return path → message of what is wrong with a document."""
    try:
        read_document(content)
    except InvalidDocument as error:
        return {problem.path: problem.message for problem in error.problems}
    return {}
