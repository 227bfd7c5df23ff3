"""`/api/v1/event-subscriptions/…`: programs that are told of events, and what was sent to them."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.api import CursorPages
from config.lib.http import SignedInApiRequest
from registry.api import event_serializers as shapes
from registry.models import EventSubscription
from registry.notify import selectors, subscriptions
from registry.notify.sending_again import redeliver, send_test

READ, WRITE = "events:read", "events:write"


class EventSubscriptionListView(APIView):
    """Your event subscriptions."""

    required_scopes = {"GET": READ, "POST": WRITE}

    @extend_schema(
        operation_id="event_subscriptions_list",
        responses=shapes.EventSubscriptionSerializer(many=True),
    )
    def get(self, request: SignedInApiRequest) -> Response:
        """List your event subscriptions, the newest first."""
        pages = CursorPages()
        found = selectors.subscriptions_of(request.user)
        page = pages.paginate_queryset(found, request, view=self)
        return pages.get_paginated_response(
            shapes.EventSubscriptionSerializer(page, many=True).data
        )

    @extend_schema(
        request=shapes.EventSubscriptionBodySerializer,
        responses={201: shapes.EventSubscriptionSecretSerializer},
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """Subscribe an address to events; this answer alone has the secret that signs them.

        It is not kept for a repeat of the request, so `Idempotency-Key` is not honoured here.
        """
        body = shapes.EventSubscriptionBodySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        plan = subscriptions.SubscriptionPlan(**body.validated_data)
        made, secret = subscriptions.subscription_create(request.user, plan)
        return _with_secret(made, secret, status.HTTP_201_CREATED)


class EventSubscriptionView(APIView):
    """One event subscription."""

    required_scopes = {"GET": READ, "PATCH": WRITE, "DELETE": WRITE}

    @extend_schema(
        operation_id="event_subscriptions_retrieve", responses=shapes.EventSubscriptionSerializer
    )
    def get(self, request: SignedInApiRequest, subscription_id: UUID) -> Response:
        """Show an event subscription; its secret is not told again."""
        return _told(selectors.subscription_of(request.user, subscription_id))

    @extend_schema(
        request=shapes.EventSubscriptionChangeSerializer,
        responses=shapes.EventSubscriptionSerializer,
    )
    def patch(self, request: SignedInApiRequest, subscription_id: UUID) -> Response:
        """Change an event subscription, or switch it on or off."""
        body = shapes.EventSubscriptionChangeSerializer(data=request.data, partial=True)
        body.is_valid(raise_exception=True)
        found = selectors.subscription_of(request.user, subscription_id)
        changes = dict(body.validated_data)
        active = changes.pop("active", None)
        subscriptions.subscription_update(found, changes, active=active)
        return _told(found)

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, subscription_id: UUID) -> Response:
        """Delete an event subscription with its deliveries; nothing more is sent."""
        subscriptions.subscription_delete(selectors.subscription_of(request.user, subscription_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class EventSecretView(APIView):
    """The secret of an event subscription."""

    required_scopes = {"POST": WRITE}

    @extend_schema(request=None, responses=shapes.EventSubscriptionSecretSerializer)
    def post(self, request: SignedInApiRequest, subscription_id: UUID) -> Response:
        """Make another secret; for a day events are signed with the old one, too."""
        found = selectors.subscription_of(request.user, subscription_id)
        return _with_secret(found, subscriptions.secret_rotate(found), status.HTTP_200_OK)


class EventTestView(APIView):
    """A test of an event subscription."""

    required_scopes = {"POST": WRITE}

    @extend_schema(request=None, responses=shapes.EventDeliverySerializer)
    def post(self, request: SignedInApiRequest, subscription_id: UUID) -> Response:
        """Send an event of type `test` now, once, and show what was answered."""
        found = selectors.subscription_of(request.user, subscription_id)
        return Response(shapes.EventDeliverySerializer(send_test(found)).data)


class EventDeliveryListView(APIView):
    """What was sent to an event subscription."""

    required_scopes = {"GET": READ}

    @extend_schema(
        operation_id="event_deliveries_list", responses=shapes.EventDeliverySerializer(many=True)
    )
    def get(self, request: SignedInApiRequest, subscription_id: UUID) -> Response:
        """List the deliveries of an event subscription, the newest first."""
        found, pages = selectors.subscription_of(request.user, subscription_id), CursorPages()
        page = pages.paginate_queryset(selectors.deliveries_of(found), request, view=self)
        return pages.get_paginated_response(shapes.EventDeliverySerializer(page, many=True).data)


class EventDeliveryView(APIView):
    """One delivery."""

    required_scopes = {"GET": READ}

    @extend_schema(
        operation_id="event_deliveries_retrieve", responses=shapes.EventDeliverySerializer
    )
    def get(
        self, request: SignedInApiRequest, subscription_id: UUID, delivery_id: UUID
    ) -> Response:
        """Show one delivery with its attempts."""
        found = selectors.delivery_of(request.user, subscription_id, delivery_id)
        return Response(shapes.EventDeliverySerializer(found).data)


class EventRedeliverView(APIView):
    """An event that is sent again."""

    required_scopes = {"POST": WRITE}

    @extend_schema(request=None, responses={202: shapes.EventDeliverySerializer})
    def post(
        self, request: SignedInApiRequest, subscription_id: UUID, delivery_id: UUID
    ) -> Response:
        """Have an event sent again under its `webhook-id`; a test is a new event."""
        found = redeliver(selectors.delivery_of(request.user, subscription_id, delivery_id))
        shown = shapes.EventDeliverySerializer(found).data
        return Response(shown, status=status.HTTP_202_ACCEPTED)


def _told(subscription: EventSubscription) -> Response:
    return Response(shapes.EventSubscriptionSerializer(subscription).data)


def _with_secret(subscription: EventSubscription, secret: str, code: int) -> Response:
    shown = {**shapes.EventSubscriptionSerializer(subscription).data, "secret": secret}
    return Response(shown, status=code, headers={"Cache-Control": "no-store"})
