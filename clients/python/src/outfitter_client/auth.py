"""Who the client is: a token that was given, or one that it fetches by OAuth and renews."""

from __future__ import annotations

import time
from collections.abc import Sequence

from outfitter_client.errors import AuthenticationFailed, error_of
from outfitter_client.wire import Reply, Request

TOKEN_PATH = "/o/token"  # noqa: S105
EARLY_SECONDS = 30
"""A token is renewed so long before it expires, for requests that are under way by then."""

_OK = 200


class Credential:
    """Nobody, or a token that the caller looks after. Its text is never shown."""

    def __init__(self, text: str = "") -> None:
        """Keep the token: a personal API token, or an access token."""
        self._text = text.strip()

    @property
    def text(self) -> str:
        """The token, empty for none."""
        return self._text

    def renewal(self) -> Request | None:
        """Return the request that fetches the next token, None while this one will do."""
        return None

    def take(self, answer: Reply) -> None:
        """Keep the token that was fetched."""

    def forget(self, scopes: Sequence[str] | None = None) -> bool:
        """Drop a token; say whether another can be fetched, from now on with `scopes`."""
        return False

    def __repr__(self) -> str:
        """Return the kind alone."""
        return f"{type(self).__name__}(…)"


class ClientCredentials(Credential):
    """The client of an agent: a token by client credentials (RFC 6749, 4.4), renewed by itself.

    `scopes` of None asks for all that the client may have.
    """

    def __init__(self, client_id: str, secret: str, scopes: Sequence[str] | None = None) -> None:
        """Keep what tokens are fetched with."""
        super().__init__()
        self._client_id = client_id
        self._secret = secret
        self._scopes = None if scopes is None else tuple(scopes)
        self._until = 0.0

    def renewal(self) -> Request | None:
        """Return the request for a token, unless there is one that is valid for a while."""
        if self._text and time.monotonic() < self._until:
            return None
        form = {"grant_type": "client_credentials"}
        if self._scopes is not None:
            form["scope"] = " ".join(self._scopes)
        basic = (self._client_id, self._secret)
        return Request("POST", TOKEN_PATH, form=form, basic=basic, repeatable=True)

    def take(self, answer: Reply) -> None:
        """Keep the token and until when it will do."""
        if answer.status != _OK or not isinstance(answer.body, dict):
            told = error_of(answer.status, answer.body, answer.headers)
            raise AuthenticationFailed(
                f"No token for the client “{self._client_id}”: {told.message}",
                "See that its id, its secret and its scopes are right, and that it is allowed.",
                status=answer.status,
            )
        self._text = str(answer.body["access_token"])
        lasts = float(answer.body.get("expires_in", 300))
        self._until = time.monotonic() + lasts - min(EARLY_SECONDS, lasts / 2)

    def forget(self, scopes: Sequence[str] | None = None) -> bool:
        """Drop the token; the next request fetches another."""
        self._text = ""
        if scopes is not None:
            self._scopes = tuple(scopes)
        return True
