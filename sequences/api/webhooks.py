"""`/api/v1/sequences/{id}/webhooks/` and `/api/v1/webhooks/…`."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.api import CursorPages
from config.lib.http import SignedInApiRequest
from sequences.api import trigger_serializers as shapes
from sequences.api.schedules import CHANGE, READ, require_as_wide, require_changer, scopes_of
from sequences.models import Webhook
from sequences.selectors import sequence_visible_to
from sequences.triggers import deliveries, selectors, webhooks
from sequences.triggers.webhooks import WebhookPlan


class WebhookListView(APIView):
    """Webhooks of a sequence."""

    required_scopes = {"GET": READ, "POST": CHANGE}

    @extend_schema(operation_id="webhooks_list", responses=shapes.WebhookSerializer(many=True))
    def get(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """List your webhooks of a sequence, the newest first."""
        tool, pages = sequence_visible_to(request.user, tool_id), CursorPages()
        found = selectors.webhooks_of(request.user).filter(tool=tool)
        page = pages.paginate_queryset(found, request, view=self)
        shown = shapes.WebhookSerializer(page, many=True, context={"request": request})
        return pages.get_paginated_response(shown.data)

    @extend_schema(
        request=shapes.WebhookBodySerializer, responses={201: shapes.WebhookSecretSerializer}
    )
    def post(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Give a sequence an address; this answer alone has its secret.

        It is not kept for a repeat of the request, so `Idempotency-Key` is not honoured here.
        """
        body = shapes.WebhookBodySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = dict(body.validated_data)
        signing = given.pop("signing")
        webhook, secret = webhooks.webhook_create(
            request.user,
            sequence_visible_to(request.user, tool_id),
            WebhookPlan(**given),
            signing=signing,
            scopes=scopes_of(request),
        )
        return _with_secret(request, webhook, secret, status.HTTP_201_CREATED)


class WebhookView(APIView):
    """One webhook."""

    required_scopes = {"GET": READ, "PATCH": CHANGE, "DELETE": CHANGE}

    @extend_schema(operation_id="webhooks_retrieve", responses=shapes.WebhookSerializer)
    def get(self, request: SignedInApiRequest, webhook_id: UUID) -> Response:
        """Show a webhook; its secret is not told again."""
        return Response(_shown(request, selectors.webhook_of(request.user, webhook_id)))

    @extend_schema(request=shapes.WebhookChangeSerializer, responses=shapes.WebhookSerializer)
    def patch(self, request: SignedInApiRequest, webhook_id: UUID) -> Response:
        """Change a webhook, or switch it on or off; its runs now have this token's scopes."""
        body = shapes.WebhookChangeSerializer(data=request.data, partial=True)
        body.is_valid(raise_exception=True)
        require_changer(request)
        webhook = selectors.webhook_of(request.user, webhook_id)
        if body.validated_data == {"enabled": False}:
            webhooks.webhook_switch(webhook, enabled=False)
        else:
            plan = webhooks.plan_of(webhook, **body.validated_data)
            webhooks.webhook_change(webhook, plan, scopes=scopes_of(request))
        return Response(_shown(request, webhook))

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, webhook_id: UUID) -> Response:
        """Delete a webhook; the runs that it started are kept."""
        require_changer(request)
        webhooks.webhook_delete(selectors.webhook_of(request.user, webhook_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class WebhookSecretView(APIView):
    """The secret of a webhook."""

    required_scopes = {"POST": CHANGE}

    @extend_schema(request=None, responses=shapes.WebhookSecretSerializer)
    def post(self, request: SignedInApiRequest, webhook_id: UUID) -> Response:
        """Make another secret; the old one stops working at once."""
        webhook = selectors.webhook_of(request.user, webhook_id)
        require_as_wide(request, webhook.scopes)
        return _with_secret(request, webhook, webhooks.webhook_rotate(webhook))


class WebhookTestView(APIView):
    """A test of a webhook."""

    required_scopes = {"POST": CHANGE}

    @extend_schema(request=shapes.TestMessageSerializer, responses={202: shapes.ReceivedSerializer})
    def post(self, request: SignedInApiRequest, webhook_id: UUID) -> Response:
        """Sign a message here and take it like any other: it starts a real run."""
        body = shapes.TestMessageSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        webhook = selectors.webhook_of(request.user, webhook_id)
        require_as_wide(request, webhook.scopes)
        received = deliveries.try_out(webhook, body.validated_data.get("body", {}))
        return Response(received.as_json(), status=status.HTTP_202_ACCEPTED)


def _shown(request: SignedInApiRequest, webhook: Webhook) -> dict[str, Any]:
    return dict(shapes.WebhookSerializer(webhook, context={"request": request}).data)


def _with_secret(
    request: SignedInApiRequest, webhook: Webhook, secret: str, code: int = 200
) -> Response:
    shown = {**_shown(request, webhook), "secret": secret}
    return Response(shown, status=code, headers={"Cache-Control": "no-store"})
