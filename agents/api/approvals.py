"""`/api/v1/agents/{slug}/approval-rules/`."""

from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from agents import approval_rules, selectors
from agents.api import serializers as shapes
from agents.models import ApprovalRule
from config.lib.api import read_write
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from config.lib.types import JsonObject

RULES = read_write("agents")


class ApprovalRulesView(APIView):
    """Which tools an agent may call without asking, only after asking, or not at all."""

    required_scopes = RULES

    @extend_schema(responses=shapes.ApprovalRulesSerializer, operation_id="agents_rules_list")
    def get(self, request: SignedInApiRequest, slug: str) -> Response:
        """List the rules, those that win first, and what holds where none of them fits."""
        agent = selectors.agent_visible_to(request.user, slug)
        judged = approval_rules.linked_judged(agent)
        rules = [
            _told(rule, approval_rules.caught(rule.pattern, judged))
            for rule in approval_rules.rules_of(agent)
        ]
        return Response({"default": agent.approval_default, "results": rules})

    @extend_schema(
        request=shapes.ApprovalRuleWriteSerializer, responses={201: shapes.ApprovalRuleSerializer}
    )
    @idempotent
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Make a rule, or change the effect of the rule with this pattern."""
        body = shapes.ApprovalRuleWriteSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        agent = selectors.agent_owned_by(request.user, slug)
        rule = approval_rules.rule_set(agent, **body.validated_data)
        names = approval_rules.caught(rule.pattern, approval_rules.linked_judged(agent))
        return Response(_told(rule, names), status=status.HTTP_201_CREATED)

    @extend_schema(
        request=shapes.ApprovalRuleNamedSerializer,
        parameters=[OpenApiParameter("id", UUID, required=True, description="Or in a body.")],
        responses={204: None},
    )
    def delete(self, request: SignedInApiRequest, slug: str) -> Response:
        """Remove a rule, named in the body or as `?id=`."""
        body = shapes.ApprovalRuleNamedSerializer(data=request.data or request.query_params)
        body.is_valid(raise_exception=True)
        agent = selectors.agent_owned_by(request.user, slug)
        approval_rules.rule_delete(agent, body.validated_data["id"])
        return Response(status=status.HTTP_204_NO_CONTENT)


def _told(rule: ApprovalRule, catches: list[str]) -> JsonObject:
    told: JsonObject = shapes.ApprovalRuleSerializer(rule).data
    return {**told, "catches": catches}
