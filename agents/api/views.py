"""`/api/v1/agents/…`."""

from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from agents import offering, selectors, services, usage
from agents.api import serializers as shapes
from config.lib.api import CursorPages, read_write, require_held
from config.lib.errors import InvalidInput
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from config.lib.types import JsonObject
from registry.api.usage import PERIOD, asked_period, told_usage
from registry.roles import teams_of
from registry.usage.selectors import Scope, by_tool

AGENTS = read_write("agents")


class AgentListView(APIView):
    """List and make agents."""

    required_scopes = AGENTS

    @extend_schema(responses=shapes.AgentSerializer(many=True), operation_id="agents_list")
    def get(self, request: SignedInApiRequest) -> Response:
        """List the agents that you may talk to."""
        pages = CursorPages()
        page = pages.paginate_queryset(
            selectors.agents_visible_to(request.user), request, view=self
        )
        return pages.get_paginated_response(shapes.AgentSerializer(page, many=True).data)

    @extend_schema(request=shapes.AgentWriteSerializer, responses={201: shapes.AgentSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest) -> Response:
        """Make an agent of your own."""
        fields = _fields(request)
        require_held(request, fields.get("scopes", ()))
        agent = services.agent_create(request.user, **fields)
        return Response(shapes.AgentSerializer(agent).data, status=status.HTTP_201_CREATED)


class AgentView(APIView):
    """One agent."""

    required_scopes = AGENTS

    @extend_schema(responses=shapes.AgentSerializer, operation_id="agents_retrieve")
    def get(self, request: SignedInApiRequest, slug: str) -> Response:
        """Show an agent."""
        agent = selectors.agent_visible_to(request.user, slug)
        return Response(shapes.AgentSerializer(agent).data)

    @extend_schema(request=shapes.AgentWriteSerializer, responses=shapes.AgentSerializer)
    def patch(self, request: SignedInApiRequest, slug: str) -> Response:
        """Change an agent of your own."""
        fields = _fields(request, partial=True)
        agent = selectors.agent_owned_by(request.user, slug)
        require_held(request, set(fields.get("scopes", ())) - set(agent.scopes))
        agent = services.agent_update(agent, **fields)
        return Response(shapes.AgentSerializer(agent).data)

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, slug: str) -> Response:
        """Delete an agent of your own, with its conversations."""
        services.agent_delete(selectors.agent_owned_by(request.user, slug))
        return Response(status=status.HTTP_204_NO_CONTENT)


class AgentToolsView(APIView):
    """The tools that are linked to an agent."""

    required_scopes = AGENTS

    @extend_schema(responses=shapes.LinksSerializer, operation_id="agents_tools_list")
    def get(self, request: SignedInApiRequest, slug: str) -> Response:
        """List the linked tools, by name."""
        agent = selectors.agent_visible_to(request.user, slug)
        links = shapes.LinkSerializer(selectors.links_of(agent), many=True)
        return Response({"results": links.data})

    @extend_schema(request=shapes.LinkWriteSerializer, responses={201: shapes.LinkSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Link a tool, or change its link."""
        body = shapes.LinkWriteSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        agent = selectors.agent_owned_by(request.user, slug)
        settings = dict(body.validated_data)
        link = services.tool_link(agent, settings.pop("tool_id"), **settings)
        return Response(shapes.LinkSerializer(link).data, status=status.HTTP_201_CREATED)

    @extend_schema(
        request=shapes.UnlinkSerializer,
        parameters=[OpenApiParameter("toolId", UUID, required=True, description="Or in a body.")],
        responses={204: None},
    )
    def delete(self, request: SignedInApiRequest, slug: str) -> Response:
        """Unlink a tool, named in the body or as `?toolId=`."""
        body = shapes.UnlinkSerializer(data=request.data or request.query_params)
        body.is_valid(raise_exception=True)
        agent = selectors.agent_owned_by(request.user, slug)
        services.tool_unlink(agent, body.validated_data["toolId"])
        return Response(status=status.HTTP_204_NO_CONTENT)


class AgentOfferView(APIView):
    """The tool by which other agents may ask an agent."""

    required_scopes = AGENTS

    @extend_schema(request=None, responses={201: shapes.OfferSerializer})
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Offer an agent of your own as a tool, or bring that tool up to date."""
        tool = offering.agent_offer(selectors.agent_owned_by(request.user, slug))
        return Response(shapes.OfferSerializer(tool).data, status=status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, slug: str) -> Response:
        """Offer it no more."""
        offering.agent_withdraw(selectors.agent_owned_by(request.user, slug))
        return Response(status=status.HTTP_204_NO_CONTENT)


class AgentUsageView(APIView):
    """What an agent has used."""

    required_scopes = AGENTS

    @extend_schema(parameters=PERIOD, responses=shapes.UsageSerializer)
    def get(self, request: SignedInApiRequest, slug: str) -> Response:
        """Tell what an agent used: calls, success, latency, tokens and cost, by tool and over time.

        Without `from` and `to` the first keys count all time, the others the last 30 days.
        """
        agent = usage.usage_visible_agent(request.user, slug)
        period, asked = asked_period(request)
        counts = usage.usage_of(agent, period if asked else None)
        scope = Scope(agent_ids=[agent.pk])
        turns = dict(usage.model_series([agent.pk], period))
        return Response(
            {
                "agent": agent.slug,
                "total_tools_available": counts.total_tools_available,
                "total_tool_calls": counts.total_tool_calls,
                "usage_by_tool": counts.by_tool,
                "most_used_tool": counts.most_used_tool,
                **told_usage(scope, period),
                "models": usage.model_total([agent.pk], period).as_json(),
                "tools": [
                    {"toolId": tool.tool_id, "name": tool.name, **tool.sums.as_json()}
                    for tool in by_tool(scope, period)
                ],
                "turns": [{"start": start, **sums.as_json()} for start, sums in turns.items()],
                "never_called": [tool.wire_name for tool in usage.never_called(agent, period)],
            }
        )


def _fields(request: SignedInApiRequest, *, partial: bool = False) -> JsonObject:
    body = shapes.AgentWriteSerializer(data=request.data, partial=partial)
    body.is_valid(raise_exception=True)
    fields: dict[str, Any] = dict(body.validated_data)
    if fields.get("team"):
        fields["team"] = _team(request.user, fields["team"])
    return fields


def _team(user: User, name: str) -> Any:
    team = teams_of(user).filter(name=name).first()
    if team is None:
        raise InvalidInput(f"You are not on a team “{name}”.", "Name one of your own teams.")
    return team
