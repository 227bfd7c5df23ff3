"""A client of the REST API that costs next to nothing."""

from __future__ import annotations

import json
from typing import Any

from tests.benchmarks.kept import Kept


class Rest(Kept):
    """A client with a token."""

    def __init__(self, port: int, token: str) -> None:
        super().__init__(port)
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}

    def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool by its name; return its output."""
        return self.post(f"/api/v1/discovery/tools/{name}/", arguments)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send a request and return its answer."""
        return json.loads(self.send(path, body, self._headers)[1])
