"""The shapes of what a governor sets of a tool."""

from rest_framework import serializers

from config.lib.api_bodies import Body
from registry.governing import DEAREST_CALL, LONGEST_CALL, MOST_CALLS
from registry.models.stoppable import LONGEST_REASON
from registry.scopes import LONGEST_SCOPE


class ReasonSerializer(Body):
    """Why it is done; everybody who meets a stop reads it."""

    reason = serializers.CharField(max_length=LONGEST_REASON)


class GovernanceSerializer(ReasonSerializer):
    """What is to change; what is left out stays. `callsPerMinute` null is the site's default."""

    always = ("reason",)

    requiredScopes = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_SCOPE),
        source="required_scopes",
        required=False,
    )
    callsPerMinute = serializers.IntegerField(
        source="calls_per_minute",
        min_value=1,
        max_value=MOST_CALLS,
        allow_null=True,
        required=False,
    )
    costPerCall = serializers.DecimalField(
        source="cost_per_call",
        max_digits=12,
        decimal_places=6,
        min_value=0,
        max_value=DEAREST_CALL,
        allow_null=True,
        required=False,
        help_text="US dollars.",
    )
    timeoutSeconds = serializers.IntegerField(
        source="timeout_seconds", min_value=1, max_value=LONGEST_CALL, required=False
    )
