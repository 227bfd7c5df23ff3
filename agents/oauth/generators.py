"""What tokens and secrets look like: 256 random bits behind a prefix that tells what they are."""

import secrets

ACCESS = "ofa_"
REFRESH = "ofr_"
SECRET = "ofs_"  # noqa: S105 - the beginning of each, which secret scanners look for


def access_token(request: object) -> str:
    """Return the text of a new access token."""
    return ACCESS + secrets.token_urlsafe(32)


def refresh_token(request: object) -> str:
    """Return the text of a new refresh token."""
    return REFRESH + secrets.token_urlsafe(32)


class ClientIdGenerator:
    """Makes the ids of clients, which are no secrets."""

    def hash(self) -> str:
        """Return a new id, made of letters and digits."""
        return secrets.token_hex(16)


class ClientSecretGenerator:
    """Makes the secrets of confidential clients."""

    def hash(self) -> str:
        """Return a new secret."""
        return SECRET + secrets.token_urlsafe(32)
