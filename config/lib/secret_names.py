"""Tell by its name whether a setting is meant to hold a secret."""

import re

_SECRET = re.compile(
    r"api[-_ ]?key|(access|secret|private|subscription|function)[-_]?key|passw(or)?d|passphrase"
    r"|secret|credential|(access|auth|bearer|refresh|session|api)[-_]?token|^(x-)?token$|^bearer$",
    re.IGNORECASE,
)


def names_a_secret(name: str) -> bool:
    """Say whether what stands under this name would be a key, a token or a password."""
    return _SECRET.search(name) is not None
