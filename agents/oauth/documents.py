"""Programs whose id is the address of a document about them (Client ID Metadata Documents)."""

from io import BytesIO
from typing import Any

import httpx
from django.conf import settings
from limits import RateLimitItemPerHour
from oauth2_provider.cimd import CIMDError, SafeMetadataFetcher, _validate_client_id_url
from oauth2_provider.settings import oauth2_settings
from oauthlib.common import Request
from urllib3 import HTTPResponse

from config.lib.jsontext import storable
from registry.errors import ToolError
from registry.limits import call_limits
from registry.outbound import Guard, fetch

AN_HOUR = RateLimitItemPerHour(60)
"""Documents that are fetched for whoever comes from one address."""


class GuardedFetcher(SafeMetadataFetcher):  # type: ignore[misc]
    """Fetches through the product's own guard, which keeps to the same rules as for tools.

    What the toolkit checks of an address and of a document stays with it.
    """

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        """Return the document and for how many seconds it is good; raise CIMDError."""
        _validate_client_id_url(client_id)
        most = oauth2_settings.CIMD_MAX_DOCUMENT_SIZE
        try:
            answer = fetch(
                httpx.Request("GET", client_id, headers={"Accept": "application/json"}),
                seconds=oauth2_settings.CIMD_FETCH_TIMEOUT_SECONDS,
                guard=Guard(max_bytes=most),
                most_redirects=0,
            )
        except (ToolError, httpx.InvalidURL) as error:
            raise CIMDError(str(error)) from None
        read: tuple[dict[str, Any], int] = self._read_document(
            HTTPResponse(
                BytesIO(answer.body),
                headers=dict(answer.headers),
                status=answer.status,
                preload_content=False,
                decode_content=False,
            )
        )
        if storable(read[0]) != read[0]:
            raise CIMDError("It holds characters that no text may hold.")
        return read


class MayFetch:
    """Says when a document may be fetched: while somebody who is signed in authorizes."""

    def has_permission(self, request: Request, client_id: str) -> bool:
        """Refuse strangers at the token endpoint, and whoever tries one after the other."""
        if settings.CLIENT_REGISTRATION == "off" or not request.uri.startswith("/o/authorize"):
            return False
        address = request.headers.get("REMOTE_ADDR") or ""
        return call_limits.take(AN_HOUR, "client-documents", address) is None
