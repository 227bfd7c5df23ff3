"""`/api/v1/sequences/{id}/schedules/` and `/api/v1/schedules/…`."""

from collections.abc import Collection
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib import api
from config.lib.api import CursorPages
from config.lib.errors import NotAllowed
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from sequences.api import trigger_serializers as shapes
from sequences.selectors import sequence_visible_to
from sequences.triggers import schedules, selectors
from sequences.triggers.schedules import SchedulePlan

READ = "tools:read"
CHANGE = ("tools:run", "tools:write")
"""A schedule is something made, and it runs."""


def scopes_of(request: Request) -> list[str] | None:
    """Return what the runs of a trigger are limited to that this request saves.

    Raises NotAllowed for an agent's own token: nothing would hold the runs to the agent's rules.
    """
    require_changer(request)
    granted = api.scopes_of(request)
    return None if granted is None else sorted(granted)


def require_changer(request: Request) -> None:
    """Refuse an agent's own token: what starts runs by itself is its owner's."""
    api.require_person(request, "An agent's own token makes and changes no triggers.")


def require_as_wide(request: Request, scopes: Collection[str] | None) -> None:
    """Refuse a token that is limited to less than the runs that it would start have."""
    require_changer(request)
    granted = api.scopes_of(request)
    if granted is not None and (scopes is None or not granted.issuperset(scopes)):
        raise NotAllowed(
            "The runs of this webhook may do more than this token.",
            "Use the token that saved it, one without scopes, or save it with this one first.",
        )


class ScheduleListView(APIView):
    """Schedules of a sequence."""

    required_scopes = {"GET": READ, "POST": CHANGE}

    @extend_schema(operation_id="schedules_list", responses=shapes.ScheduleSerializer(many=True))
    def get(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """List your schedules of a sequence, the newest first."""
        tool, pages = sequence_visible_to(request.user, tool_id), CursorPages()
        found = selectors.schedules_of(request.user).filter(tool=tool)
        page = pages.paginate_queryset(found, request, view=self)
        return pages.get_paginated_response(shapes.ScheduleSerializer(page, many=True).data)

    @extend_schema(
        request=shapes.ScheduleBodySerializer, responses={201: shapes.ScheduleSerializer}
    )
    @idempotent
    def post(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Run a sequence at set times, in your name and with this token's scopes."""
        body = shapes.ScheduleBodySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        schedule = schedules.schedule_create(
            request.user,
            sequence_visible_to(request.user, tool_id),
            SchedulePlan(**{"input": {}, **body.validated_data}),
            scopes=scopes_of(request),
        )
        shown = shapes.ScheduleSerializer(schedule).data
        return Response(shown, status=status.HTTP_201_CREATED)


class ScheduleView(APIView):
    """One schedule."""

    required_scopes = {"GET": READ, "PATCH": CHANGE, "DELETE": CHANGE}

    @extend_schema(operation_id="schedules_retrieve", responses=shapes.ScheduleSerializer)
    def get(self, request: SignedInApiRequest, schedule_id: UUID) -> Response:
        """Show a schedule with its next times."""
        schedule = selectors.schedule_of(request.user, schedule_id)
        return Response(shapes.ScheduleSerializer(schedule).data)

    @extend_schema(request=shapes.ScheduleBodySerializer, responses=shapes.ScheduleSerializer)
    def patch(self, request: SignedInApiRequest, schedule_id: UUID) -> Response:
        """Change a schedule, or switch it on or off; its runs now have this token's scopes."""
        body = shapes.ScheduleBodySerializer(data=request.data, partial=True)
        body.is_valid(raise_exception=True)
        require_changer(request)
        schedule = selectors.schedule_of(request.user, schedule_id)
        if body.validated_data == {"enabled": False}:
            schedules.schedule_switch(schedule, enabled=False)
        else:
            plan = schedules.plan_of(schedule, **body.validated_data)
            schedules.schedule_change(schedule, plan, scopes=scopes_of(request))
        return Response(shapes.ScheduleSerializer(schedule).data)

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, schedule_id: UUID) -> Response:
        """Delete a schedule; the runs that it started are kept."""
        require_changer(request)
        schedules.schedule_delete(selectors.schedule_of(request.user, schedule_id))
        return Response(status=status.HTTP_204_NO_CONTENT)
