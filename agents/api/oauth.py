"""`/api/v1/oauth/…`: the programs of agents, and the programs that a person has let in."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents import selectors
from agents.api import oauth_serializers as shapes
from agents.models import OAuthClient
from agents.oauth import clients, grants
from config.lib.api import read_write, scopes_of
from config.lib.errors import NotAllowed
from config.lib.http import SignedInApiRequest

CLIENTS = read_write("agents")


class ClientListView(APIView):
    """Programs that get tokens by client credentials and act as one of your agents."""

    required_scopes = CLIENTS

    @extend_schema(
        operation_id="oauth_clients_list",
        parameters=[OpenApiParameter("agent", str, description="Only those of this agent.")],
        responses=shapes.ClientListSerializer,
    )
    def get(self, request: SignedInApiRequest) -> Response:
        """List the programs of your agents, the newest first."""
        found = clients.clients_owned_by(request.user)
        if slug := request.query_params.get("agent"):
            found = clients.clients_of(selectors.agent_owned_by(request.user, slug))
        return Response(shapes.ClientListSerializer({"results": found}).data)

    @extend_schema(
        request=shapes.ClientWriteSerializer, responses={201: shapes.ClientSecretSerializer}
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """Make a program; its secret is in this answer alone."""
        body = shapes.ClientWriteSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        _require_unlimited(request)
        agent = selectors.agent_owned_by(request.user, body.validated_data["agent"])
        client, secret = clients.client_make(agent, name=body.validated_data["name"])
        return _with_secret(client, secret, status.HTTP_201_CREATED)


class ClientView(APIView):
    """One program of an agent."""

    required_scopes = CLIENTS

    @extend_schema(responses=shapes.ClientSerializer, operation_id="oauth_clients_retrieve")
    def get(self, request: SignedInApiRequest, client_id: int) -> Response:
        """Show a program."""
        return Response(
            shapes.ClientSerializer(clients.client_owned_by(request.user, client_id)).data
        )

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, client_id: int) -> Response:
        """Delete a program; its tokens end at once."""
        clients.client_delete(clients.client_owned_by(request.user, client_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ClientRotateView(APIView):
    """The secret of a program."""

    required_scopes = CLIENTS

    @extend_schema(request=None, responses=shapes.ClientSecretSerializer)
    def post(self, request: SignedInApiRequest, client_id: int) -> Response:
        """Give it another secret, told in this answer alone; tokens of the old one end."""
        _require_unlimited(request)
        client = clients.client_owned_by(request.user, client_id)
        return _with_secret(client, clients.client_rotate(client), status.HTTP_200_OK)


class GrantListView(APIView):
    """Programs of others that you have let in."""

    required_scopes = CLIENTS

    @extend_schema(responses=shapes.GrantListSerializer, operation_id="oauth_grants_list")
    def get(self, request: SignedInApiRequest) -> Response:
        """List them, what was used last first."""
        return Response(
            shapes.GrantListSerializer({"results": grants.grants_of(request.user)}).data
        )


class GrantView(APIView):
    """One of them."""

    required_scopes = CLIENTS

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, client_id: int) -> Response:
        """Take back all that a program may do for you."""
        grants.grant_revoke(request.user, client_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _require_unlimited(request: Request) -> None:
    """A token that is limited by scopes must not make a secret that gets it others."""
    if scopes_of(request) is not None:
        raise NotAllowed(
            "A token that is limited by scopes cannot make secrets.",
            "Sign in, or use a token without scopes.",
        )


def _with_secret(client: OAuthClient, secret: str, code: int) -> Response:
    told = {**shapes.ClientSerializer(client).data, "clientSecret": secret}
    return Response(told, status=code, headers={"Cache-Control": "no-store"})
