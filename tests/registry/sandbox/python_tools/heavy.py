# /// script
# dependencies = ["pydantic>=2", "httpx"]
# ///
"""A tool that does little and imports what many tools import."""

import httpx
import pydantic


class Pair(pydantic.BaseModel):
    """Two numbers."""

    a: int
    b: int = 1


def add(a: int, b: int = 1) -> dict[str, int | str]:
    """Add two numbers."""
    pair = Pair(a=a, b=b)
    return {"sum": pair.a + pair.b, "client": httpx.__version__}
