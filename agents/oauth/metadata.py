"""What clients read first: where to authorize, and for which resource (RFC 8414, RFC 9728)."""

from typing import Any
from urllib.parse import urlsplit

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from oauth2_provider.views import OAuthProtectedResourceMetadataView, OAuthServerMetadataView

from agents.audiences import MCP, REST, agent_of, canonical, origin_at
from agents.oauth.browsers import ForBrowsers
from agents.oauth.scopes import FIRST


class ServerView(ForBrowsers, OAuthServerMetadataView):  # type: ignore[misc]
    """`/.well-known/oauth-authorization-server`."""

    http_method_names = ["get", "head", "options"]


class ResourceView(ForBrowsers, OAuthProtectedResourceMetadataView):  # type: ignore[misc]
    """`/.well-known/oauth-protected-resource/<path of a resource>`; without a path, of `/mcp`.

    Whether there is an agent at an address is not told: only who may see it learns that.
    """

    http_method_names = ["get", "head", "options"]

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer with the metadata of one of our resources."""
        path = "/" + kwargs.get("resource_path", MCP[1:])
        resource = canonical(origin_at(request.scheme or "http", request.get_host()) + path)
        if resource is None:
            raise Http404
        self.resource = resource
        return super().get(request, *args, **kwargs)  # type: ignore[no-any-return]

    def get_resource(self, request: HttpRequest) -> str:
        """Return the resource itself, as tokens name it."""
        return self.resource

    def get_scopes_supported(self) -> list[str]:
        """Return what a client asks for to begin with: the least that is of use.

        What else it needs it is told when it needs it. MCP's clients ask for all that is listed,
        which an agent's own may not even have.
        """
        return sorted(FIRST)

    def get_resource_name(self) -> str:
        """Return what the resource is called."""
        if self.path == REST:
            return "Outfitter REST API"
        agent = agent_of(self.resource)
        return f"Outfitter tools of the agent {agent}" if agent else "Outfitter tools"

    def get_resource_documentation(self) -> str:
        """Return the address of the REST API's documentation; MCP describes itself."""
        return self.request.build_absolute_uri(reverse("api_docs")) if self.path == REST else ""

    @property
    def path(self) -> str:
        """Return the path of the resource."""
        return urlsplit(self.resource).path
