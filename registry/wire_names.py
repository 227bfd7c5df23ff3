"""Give a tool the name that models call it by.

Model APIs take letters, digits, `_` and `-`, at most 64 of them.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable

from config.lib.errors import Conflict

MAX_LENGTH = 64
DIGEST_LENGTH = 8
MAX_ATTEMPTS = 100

META_TOOLS = frozenset({"search_tools", "describe_tool", "call_tool", "run_code", "ask_user"})
"""Names that models call what is no tool of the catalogue by; no link takes one of them."""

_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")
_UNSAFE_RUN = re.compile(r"[^a-z0-9]+")


def wire_name(package: str | None, export: str, taken: Callable[[str], bool]) -> str:
    """Return a free wire name, the same for the same arguments and the same taken names.

    A tool of a package is `package-export` with `@` dropped and every other sign an underscore:
    `@org/pkg` and `export` or `export()` give `org_pkg-export`. A tool without a package is named
    by a person: `Count and Shout` gives `count_and_shout`. A name that is too long is cut, and one
    that is taken is kept, each with a short digest of the full name. Raises `Conflict` when every
    such name is taken.
    """
    full = export if package is None else f"{package}-{export}"
    readable = _plain(full) if package is None else _of_package(full)
    says_something = bool(readable.strip("_-"))
    name = readable if says_something else "tool"
    if not re.match("[a-zA-Z_]", name):
        name = f"_{name}"
    if says_something and len(name) <= MAX_LENGTH and not taken(name):
        return name
    for attempt in range(MAX_ATTEMPTS):
        candidate = f"{name[: MAX_LENGTH - DIGEST_LENGTH - 1]}-{_digest(full, attempt)}"
        if not taken(candidate):
            return candidate
    raise Conflict(
        f"No free name is left for the tool “{export[:100]}”.",
        "Rename it, or delete tools that you no longer need.",
    )


def _of_package(full: str) -> str:
    return _UNSAFE.sub("_", full.replace("@", "").removesuffix("()"))


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return _UNSAFE_RUN.sub("_", folded).strip("_")


def _digest(full: str, attempt: int) -> str:
    seed = f"{full}\n{attempt}" if attempt else full
    return hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_LENGTH]
