"""One way to drive the sync and the async client, so that each test is of both."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any, Self

from outfitter_client import AsyncOutfitter, Outfitter


class Both:
    """A client of one of the two kinds; `do` waits for whatever a method gives."""

    def __init__(self, kind: type[Outfitter | AsyncOutfitter], url: str, **settings: Any) -> None:
        self._runner = asyncio.Runner()
        self.client = kind(url, **settings)

    def do(self, name: str, *args: Any, of: Any = None, **kwargs: Any) -> Any:
        """Call a method of the client, or of a handle of it."""
        return self.wait(getattr(of or self.client, name)(*args, **kwargs))

    def wait(self, given: Any) -> Any:
        """Return what comes of an awaitable; a list of what an iterator gives."""
        if inspect.isawaitable(given):
            return self._runner.run(_awaited(given))
        if hasattr(given, "__aiter__"):
            return self._runner.run(_listed(given))
        return list(given) if isinstance(given, Iterator) else given

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.wait(self.client.close())
        self._runner.close()


async def _awaited(given: Any) -> Any:
    return await given


async def _listed(given: Any) -> list[Any]:
    return [each async for each in given]
