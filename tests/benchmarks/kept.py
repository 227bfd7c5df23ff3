"""A connection over HTTP that is kept, and made anew where the server ended an idle one."""

from __future__ import annotations

import http.client
import json
import select
from collections.abc import Mapping
from typing import Any, Self


class Kept:
    """A connection to one server of this machine."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def send(
        self, path: str, body: dict[str, Any], headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """Post a body as JSON; return the answer, which has to be a success, and its body."""
        sock = self._connection.sock
        if sock is not None and select.select([sock], [], [], 0)[0]:
            self._connection.close()  # nothing was asked, so that what is to be read is the end
        self._connection.request("POST", path, json.dumps(body), headers)
        response = self._connection.getresponse()
        said = response.read()
        assert response.status < 300, (response.status, said)
        return response, said
