"""How the secrets of clients are kept: a plain digest, for they are random."""

import hashlib
from typing import Any

from django.contrib.auth.hashers import BasePasswordHasher
from django.utils.crypto import constant_time_compare

ALGORITHM = "sha256_of_random"


class SecretHasher(BasePasswordHasher):
    """Keeps what has 256 random bits, which nobody can try out however quick a try is.

    The hashes of passwords are slow on purpose: with them whoever knows the id of a client could
    keep the server busy by sending wrong secrets.
    """

    algorithm = ALGORITHM

    def salt(self) -> str:
        """Return nothing: no two secrets are alike."""
        return ""

    def encode(self, password: str, salt: str) -> str:
        """Return what is kept of a secret."""
        return f"{ALGORITHM}${hashlib.sha256(password.encode('utf-8', 'replace')).hexdigest()}"

    def decode(self, encoded: str) -> dict[str, Any]:
        """Return the parts of what is kept."""
        algorithm, _, digest = encoded.partition("$")
        return {"algorithm": algorithm, "hash": digest, "salt": ""}

    def verify(self, password: str, encoded: str) -> bool:
        """Tell whether this is the secret."""
        return constant_time_compare(encoded, self.encode(password, ""))

    def safe_summary(self, encoded: str) -> Any:
        """Return what may be shown of it: how it is kept."""
        return {"algorithm": ALGORITHM}

    def must_update(self, encoded: str) -> bool:
        """Say that there is no better way to keep it."""
        return False

    def harden_runtime(self, password: str, encoded: str) -> None:
        """Take no longer than needed."""
