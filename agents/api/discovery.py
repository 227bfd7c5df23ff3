"""`/api/v1/discovery/…`: what a program may use, how it calls it, and how it adds to it."""

from http import HTTPStatus
from typing import Any

from django.http import HttpResponse, HttpResponseBase, QueryDict
from django.utils.http import parse_etags
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import AllowAny
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.api import discovery_serializers as shapes
from agents.api.authentication import bearer_in
from agents.discovery.audience import READ, Audience, audience_of, everybody, toolset_audience
from agents.discovery.calling import tool_use
from agents.discovery.entries import PLACE
from agents.discovery.listing import Page, page_of, stats_of
from agents.discovery.registering import tool_register, tool_unregister
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from config.lib.types import JsonObject
from registry.api.call_serializers import LaunchedSerializer
from registry.impact.parts import Impact


class _Text(BaseRenderer):
    """Only names the media type: the view makes the text."""

    media_type = "text/plain"
    format = "text"
    charset = "utf-8"

    def render(self, data: Any, *_: Any, **__: Any) -> bytes:
        return JSONRenderer().render(data)  # an error


class _JsonUnlessAsked(DefaultContentNegotiation):
    """Leave `?format=` to the view, which says in words what is wrong with it."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        if request.query_params.get("format"):
            return renderers[0], renderers[0].media_type
        return super().select_renderer(request, renderers, format_suffix)


class DiscoveryView(APIView):
    """What there is to use."""

    permission_classes = (AllowAny,)
    renderer_classes = (JSONRenderer, _Text)
    content_negotiation_class = _JsonUnlessAsked

    @extend_schema(
        operation_id="discovery_list",
        parameters=[
            shapes.DiscoveryQuerySerializer,
            OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER),
        ],
        responses={
            (200, "application/json"): shapes.DiscoverySerializer,
            (200, "text/plain"): OpenApiTypes.STR,
            304: OpenApiResponse(description="Nothing has changed."),
        },
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Discover tools: without a token the public ones, with one just those it may call.

        A tool is told where the token carries all the scopes that its call takes; an agent's token
        is told what the agent may call. Without `tools:read` only public tools are told.
        """
        query = shapes.DiscoveryQuerySerializer(data=request.query_params)
        query.is_valid(raise_exception=True)
        asked = query.validated_data
        audience = _audience(request, asked["agent"], asked.get("arm", ""))
        page = page_of(audience, limit=asked["limit"], cursor=asked["cursor"])
        as_text = asked.get("format", _accepted(request)) == "text"
        return _answer(request, page, since=asked["since"], as_text=as_text)


class DiscoveryStatsView(APIView):
    """The inventory of tools."""

    permission_classes = (AllowAny,)

    @extend_schema(
        operation_id="discovery_stats",
        parameters=[shapes.StatsQuerySerializer],
        responses=shapes.DiscoveryStatsSerializer,
    )
    def get(self, request: Request) -> Response:
        """Count what the same token discovers, and how many tools take each scope."""
        query = shapes.StatsQuerySerializer(data=request.query_params)
        query.is_valid(raise_exception=True)
        answer = Response(stats_of(_audience(request, query.validated_data["agent"])))
        answer["Cache-Control"] = "private, no-cache"
        return answer


class ToolRegisterView(APIView):
    """Tools of your own, added while everything runs."""

    required_scopes = {"POST": "discovery:register"}

    @extend_schema(
        operation_id="discovery_register",
        request=shapes.RegisterSerializer,
        responses={201: shapes.RegisteredSerializer, 200: shapes.RegisteredSerializer},
    )
    @idempotent
    def post(self, request: SignedInApiRequest) -> Response:
        """Register a service as a tool, or what has changed of yours; found by all at once.

        A public one waits for review, unless governors trust you; until then only you have it. The
        same again changes nothing (200). A name that somebody else has is refused (409).
        """
        body = shapes.RegisterSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        made = tool_register(request.user, dict(body.validated_data))
        told = {
            "id": str(made.tool.pk),
            "name": made.tool.wire_name,
            "endpoint": f"{PLACE}{made.tool.wire_name}/",
            "version": made.tool.version,
            "state": made.state,
            "created": made.created,
            "changed": made.changed,
            "impact": _told(made.impact) if made.impact else None,
            "message": made.words,
        }
        return Response(told, status.HTTP_201_CREATED if made.created else status.HTTP_200_OK)


class ToolUseView(APIView):
    """One tool, by its name."""

    required_scopes = {"POST": "tools:run", "DELETE": "discovery:register"}

    @extend_schema(
        operation_id="discovery_use",
        parameters=[shapes.UseQuerySerializer],
        request=OpenApiTypes.OBJECT,
        responses={
            200: OpenApiResponse(OpenApiTypes.ANY, description="The tool's output itself."),
            202: LaunchedSerializer,
        },
    )
    @idempotent
    def post(self, request: SignedInApiRequest, name: str) -> Response:
        """Call a tool with the body as its arguments; the answer is its output and nothing else.

        A sequence is waited for, at most `wait` seconds (30); one that takes longer answers 202.
        """
        sent: Any = request.data
        query = shapes.UseQuerySerializer(data=request.query_params)
        query.is_valid(raise_exception=True)
        answer = tool_use(
            request.user,
            bearer_in(request),
            name,
            {} if isinstance(sent, QueryDict) else sent,  # no body at all
            agent=query.validated_data["agent"],
            wait_seconds=query.validated_data["wait"],
        )
        if answer.run is not None:
            headers = {"Location": answer.run["url"]}
            return Response(answer.run, status.HTTP_202_ACCEPTED, headers=headers)
        return Response(answer.output)

    @extend_schema(
        operation_id="discovery_unregister", responses={200: shapes.UnregisteredSerializer}
    )
    def delete(self, request: SignedInApiRequest, name: str) -> Response:
        """Unregister a tool of your own, at once and for everybody; its history stays."""
        tool_id, impact = tool_unregister(request.user, name)
        return Response({"id": str(tool_id), "name": name, "impact": _told(impact)})


def _audience(request: Request, agent: str, arm: str = "") -> Audience:
    user, bearer = request.user, bearer_in(request)
    if user.is_authenticated:
        if agent and bearer is not None and not bearer.may(READ):
            raise PermissionDenied(f"This token lacks the scope “{READ}”.")
        if agent:
            return toolset_audience(user, bearer, slug=agent, arm=arm)
        return audience_of(user, bearer)
    if agent:
        raise NotAuthenticated("An agent's toolset is told only to who may talk to it.")
    return everybody()


def _accepted(request: Request) -> str:
    renderer = getattr(request, "accepted_renderer", None)
    return "text" if isinstance(renderer, _Text) else "json"


def _answer(request: Request, page: Page, *, since: str, as_text: bool) -> HttpResponse:
    etag = f'"{page.version}{"-text" if as_text else ""}"'
    known = parse_etags(request.headers.get("If-None-Match", ""))
    if "*" in known or etag in (each.removeprefix("W/") for each in known):
        answer = HttpResponse(status=HTTPStatus.NOT_MODIFIED)
    elif as_text:
        answer = HttpResponse(page.as_text(), content_type="text/plain; charset=utf-8")
    else:
        same = since == page.version
        told = page.unchanged_json() if same else page.as_json()
        answer = HttpResponse(told, content_type="application/json")
    answer["ETag"] = etag
    answer["Cache-Control"] = "private, no-cache"
    answer["Vary"] = "Authorization, Cookie, Accept"
    return answer


def _told(impact: Impact) -> JsonObject:
    return {"breaks": impact.breaks, "summary": impact.summary}
