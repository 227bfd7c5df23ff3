"""What a 401 or 403 says about the token it wants (RFC 6750, RFC 9728)."""

from collections.abc import Iterable
from urllib.parse import urlsplit

METADATA = "/.well-known/oauth-protected-resource"
"""Where the metadata of a resource are: this, and then the resource's own path."""


def challenge(
    resource: str, *, error: str = "", description: str = "", scopes: Iterable[str] = ()
) -> str:
    """Return the value of `WWW-Authenticate` for a resource, such as `https://host/mcp`.

    `error` is invalid_token or insufficient_scope, and empty where no token came. `scopes` are all
    that the request needs, which a client then asks for (step-up).
    """
    parts = urlsplit(resource)
    told = {
        "resource_metadata": f"{parts.scheme}://{parts.netloc}{METADATA}{parts.path}",
        "error": error,
        "error_description": description,
        "scope": " ".join(sorted(set(scopes))),
    }
    return "Bearer " + ", ".join(f'{name}="{_quoted(v)}"' for name, v in told.items() if v)


def _quoted(text: str) -> str:
    """Leave what a quoted string of a header may hold, and nothing that ends it."""
    return "".join(c for c in text if " " <= c <= "~" and c not in '"\\')
