"""`/api/v1/agents/{slug}/connect/` and `/api/v1/connect/`: what clients need to connect."""

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from agents import selectors
from agents.api.connect_serializers import ConnectionSerializer
from agents.connecting.clients import clients_for
from agents.connecting.programs import programs_for
from agents.connecting.sites import place_of
from agents.connecting.snippets import PLACEHOLDER
from config.lib.http import SignedInApiRequest


class AgentConnectView(APIView):
    """How clients connect to an agent."""

    required_scopes = {"GET": "agents:read"}

    @extend_schema(responses=ConnectionSerializer, operation_id="agents_connect")
    def get(self, request: SignedInApiRequest, slug: str) -> Response:
        """Return the settings of well-known MCP clients for an agent, curl and Python."""
        return _told(request, selectors.agent_visible_to(request.user, slug).slug)


class ConnectView(APIView):
    """How clients connect to all that you may use."""

    required_scopes = {"GET": "tools:read"}

    @extend_schema(responses=ConnectionSerializer, operation_id="connect")
    def get(self, request: SignedInApiRequest) -> Response:
        """Return the settings of well-known MCP clients for all your tools, curl and Python."""
        return _told(request, "")


def _told(request: SignedInApiRequest, slug: str) -> Response:
    place = place_of(request, slug)
    told = {
        "url": place.url,
        "name": place.name,
        "placeholder": PLACEHOLDER,
        "clients": clients_for(place),
        "programs": programs_for(place),
    }
    return Response(ConnectionSerializer(told).data)
