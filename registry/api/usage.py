"""`/api/v1/tools/{id}/usage/`, and what other answers about use are made of."""

from datetime import UTC, datetime
from uuid import UUID

from django.utils.dateparse import parse_date, parse_datetime
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.errors import InvalidInput
from config.lib.http import SignedInApiRequest
from config.lib.types import JsonObject
from registry.usage import selectors
from registry.usage.periods import Period, period_between
from registry.usage.selectors import Scope
from registry.usage.visibility import sees_all_calls, usage_visible_tool

PERIOD = [
    OpenApiParameter("from", str, description="ISO 8601 date or time, UTC unless it says."),
    OpenApiParameter("to", str, description="The end, exclusive; default: now."),
]


class CallSumsSerializer(serializers.Serializer[object]):
    """Calls and how they ended; shares, durations and costs that nobody knows are null."""

    calls = serializers.IntegerField()
    succeeded = serializers.IntegerField()
    failed = serializers.IntegerField()
    refused = serializers.IntegerField()
    faults = serializers.IntegerField()
    success_rate = serializers.FloatField(allow_null=True)
    p50_ms = serializers.IntegerField(allow_null=True)
    p95_ms = serializers.IntegerField(allow_null=True)
    p99_ms = serializers.IntegerField(allow_null=True)
    cost_usd = serializers.FloatField(allow_null=True)
    last_at = serializers.DateTimeField(allow_null=True)


class CallBucketSerializer(CallSumsSerializer):
    """The same of one hour or day."""

    start = serializers.DateTimeField()


class UsagePeriodSerializer(serializers.Serializer[object]):
    """From when to when (exclusive), in buckets of an `hour` or a `day`."""

    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    step = serializers.ChoiceField(choices=["hour", "day"])


class CallErrorSerializer(serializers.Serializer[object]):
    """How often calls ended with one error."""

    code = serializers.CharField()
    calls = serializers.IntegerField()
    last_at = serializers.DateTimeField()


class UsageToldSerializer(serializers.Serializer[object]):
    """The sums of a period, altogether and over time."""

    period = UsagePeriodSerializer()
    total = CallSumsSerializer()
    series = CallBucketSerializer(many=True)
    errors = CallErrorSerializer(many=True)  # type: ignore[assignment]


class ToolUsageSerializer(UsageToldSerializer):
    """The use of a tool; `calls_of` says whose calls these are: `everybody` or `you`."""

    toolId = serializers.UUIDField()  # noqa: N815 - as the contract has it
    name = serializers.CharField()
    calls_of = serializers.ChoiceField(choices=["everybody", "you"])


class ToolUsageView(APIView):
    """How a tool is used."""

    required_scopes = {"GET": "tools:read"}

    @extend_schema(parameters=PERIOD, responses=ToolUsageSerializer)
    def get(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Tell the calls of a tool: all to its maker and to auditors, your own to you."""
        tool = usage_visible_tool(request.user, tool_id)
        period, _ = asked_period(request)
        everyone = sees_all_calls(request.user, tool)
        scope = Scope(tool_id=tool.pk, user_id=None if everyone else request.user.pk)
        told = told_usage(scope, period)
        return Response(
            {
                "toolId": tool.pk,
                "name": tool.wire_name,
                "calls_of": "everybody" if everyone else "you",
                **told,
            }
        )


def asked_period(request: SignedInApiRequest) -> tuple[Period, bool]:
    """Return the period of `from` and `to`, and whether any was asked for; raise InvalidInput."""
    first, last = (_moment(request, name) for name in ("from", "to"))
    return period_between(first, last), bool(first or last)


def told_usage(scope: Scope, period: Period) -> JsonObject:
    """Return the shape of `UsageToldSerializer`; errors are told of all calls only."""
    errors = [] if scope.user_id is not None else selectors.errors(scope, period)
    return {
        "period": {"since": period.since, "until": period.until, "step": period.grain},
        "total": selectors.total(scope, period).as_json(),
        "series": [
            {"start": start, **sums.as_json()} for start, sums in selectors.series(scope, period)
        ],
        "errors": [
            {"code": error.code, "calls": error.calls, "last_at": error.last_at} for error in errors
        ],
    }


def _moment(request: SignedInApiRequest, name: str) -> datetime | None:
    text = request.query_params.get(name, "")
    if not text:
        return None
    moment: datetime | None = None
    try:
        moment = parse_datetime(text)
        if moment is None and (day := parse_date(text)):
            moment = datetime(day.year, day.month, day.day)
        if moment is not None:
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            moment.astimezone(UTC)
    except (ValueError, OverflowError):
        moment = None
    if moment is None or not _EARLIEST <= moment <= _LATEST:
        raise InvalidInput(
            f"“{name}” is not a date or time between 2000 and 2999.",
            "Write it like 2026-11-21 or 2026-11-21T14:00:00Z.",
        )
    return moment


_EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
_LATEST = datetime(2999, 1, 1, tzinfo=UTC)
