"""`/api/v1/tokens/`: the personal API tokens of whoever asks."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents import selectors, tokens
from agents.api import token_serializers as shapes
from config.lib.api import CursorPages, scopes_of
from config.lib.http import SignedInApiRequest


class IsUnlimited(BasePermission):
    """Let in a session and a token without scopes: another one could make itself a wider one."""

    message = "Only somebody in the browser, or a token without scopes, may handle tokens."

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Say whether the request is not limited by scopes."""
        return scopes_of(request) is None


class TokenListView(APIView):
    """Your tokens."""

    permission_classes = [IsAuthenticated, IsUnlimited]

    @extend_schema(operation_id="tokens_list", responses=shapes.TokenSerializer(many=True))
    def get(self, request: SignedInApiRequest) -> Response:
        """List your personal API tokens, the newest first; their texts are never shown again."""
        pages = CursorPages()
        page = pages.paginate_queryset(selectors.tokens_of(request.user), request, view=self)
        return pages.get_paginated_response(shapes.TokenSerializer(page, many=True).data)

    @extend_schema(request=shapes.TokenBodySerializer, responses={201: shapes.NewTokenSerializer})
    def post(self, request: SignedInApiRequest) -> Response:
        """Make a token; this answer alone has its text.

        Made by a token that expires, it expires no later. The answer is not kept for a repeat of
        the request, so `Idempotency-Key` is not honoured here.
        """
        body = shapes.TokenBodySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        made_by = getattr(request.auth, "key", "")
        token, text = tokens.token_create(
            request.user, **body.validated_data, within=tokens.expiry_of(request.user, made_by)
        )
        told: dict[str, Any] = {**shapes.TokenSerializer(token).data, "token": text}
        return Response(told, status=status.HTTP_201_CREATED, headers={"Cache-Control": "no-store"})


class TokenView(APIView):
    """One of your tokens."""

    permission_classes = [IsAuthenticated, IsUnlimited]

    @extend_schema(operation_id="tokens_retrieve", responses=shapes.TokenSerializer)
    def get(self, request: SignedInApiRequest, token_id: UUID) -> Response:
        """Show a token: its first characters, its scopes, when it expires and was used last."""
        return Response(
            shapes.TokenSerializer(selectors.token_owned_by(request.user, token_id)).data
        )

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, token_id: UUID) -> Response:
        """Revoke a token; it stops working at once."""
        tokens.token_revoke(request.user, selectors.token_owned_by(request.user, token_id).pk)
        return Response(status=status.HTTP_204_NO_CONTENT)
