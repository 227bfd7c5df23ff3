"""`/api/v1/credentials/`: the values that tools read; they go in and never come out."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.permissions import IsAuthenticated
from rest_framework.response import Response
from rest_framework.views import APIView

from agents import selectors, services
from agents.api import credential_serializers as shapes
from agents.api.tokens import IsUnlimited
from config.lib.api import CursorPages
from config.lib.http import SignedInApiRequest


class MayHandleCredentials(IsUnlimited):
    """Let in whoever is not limited: whoever sets a key decides to whose account calls go."""

    message = "Only somebody in the browser, or a token without scopes, may handle credentials."


class CredentialListView(APIView):
    """Your credentials."""

    permission_classes = [IsAuthenticated, MayHandleCredentials]

    @extend_schema(
        operation_id="credentials_list", responses=shapes.CredentialSerializer(many=True)
    )
    def get(self, request: SignedInApiRequest) -> Response:
        """List your credentials, the newest first, without their values."""
        pages = CursorPages()
        page = pages.paginate_queryset(selectors.credentials_of(request.user), request, view=self)
        return pages.get_paginated_response(shapes.CredentialSerializer(page, many=True).data)

    @extend_schema(
        request=shapes.CredentialBodySerializer, responses={201: shapes.CredentialSerializer}
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """Set a value, for all of your agents or for one; one that is there is replaced.

        Nothing of the request is kept, so `Idempotency-Key` is not honoured here.
        """
        body = shapes.CredentialBodySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        slug = body.validated_data.pop("agent", "")
        agent = selectors.agent_owned_by(request.user, slug) if slug else None
        credential = services.credential_set(request.user, **body.validated_data, agent=agent)
        return Response(
            shapes.CredentialSerializer(credential).data, status=status.HTTP_201_CREATED
        )


class CredentialView(APIView):
    """One of your credentials."""

    permission_classes = [IsAuthenticated, MayHandleCredentials]

    @extend_schema(operation_id="credentials_retrieve", responses=shapes.CredentialSerializer)
    def get(self, request: SignedInApiRequest, credential_id: UUID) -> Response:
        """Show a credential, without its value."""
        credential = selectors.credential_owned_by(request.user, credential_id)
        return Response(shapes.CredentialSerializer(credential).data)

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, credential_id: UUID) -> Response:
        """Forget a credential; the next call does without it."""
        credential = selectors.credential_owned_by(request.user, credential_id)
        services.credential_delete(request.user, credential.pk)
        return Response(status=status.HTTP_204_NO_CONTENT)
