"""The operations of a document as a person chooses from them."""

import time

from config.lib.types import JsonObject
from registry.importing.openapi.operations import Catalogue, Operation
from registry.importing.openapi.references import CannotTakeError
from registry.importing.openapi.servers import server_problem, servers_of

SECONDS = 5.0
"""For how long operations are tried beforehand; the import tries the others."""

ANYWHERE = "https://server.invalid"
"""Stands for the server where the document leaves open which one it is."""


def overview_of(document: JsonObject, source: str) -> list[JsonObject]:
    """Return `{key, method, path, title, summary, tag, deprecated, problem}` of each operation.

    `problem` says why one cannot be a tool. Raises InvalidDocument where the servers are wrong.
    """
    servers = servers_of(document, source)
    server = ANYWHERE if server_problem(servers[0][0]) else servers[0][0]
    catalogue = Catalogue(document, package="api", server=server, source=source)
    until = time.monotonic() + SECONDS
    return [
        {
            "key": operation.key,
            "method": operation.method.upper(),
            "path": operation.path,
            "title": operation.title,
            "summary": operation.summary,
            "tag": operation.tag,
            "deprecated": operation.deprecated,
            "problem": _problem(catalogue, operation) if time.monotonic() < until else "",
        }
        for operation in catalogue.operations
    ]


def _problem(catalogue: Catalogue, operation: Operation) -> str:
    try:
        catalogue.build(operation)
    except CannotTakeError as error:
        return f"{error.why} ({error.path})"
    return ""
