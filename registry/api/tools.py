"""`/api/v1/tools/…`."""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.api import CursorPages, agent_asked, read_write, scopes_of, token_of
from config.lib.errors import InvalidInput
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from config.lib.types import JsonObject
from registry import selectors
from registry.api import call_serializers as calls
from registry.api import tool_serializers as shapes
from registry.authoring import author_for
from registry.calling import call_directly, direct_context, launch, tool_to_call
from registry.context import Denied
from registry.errors import ToolError
from registry.filters import ToolFilters, tools_listed
from registry.history import tool_with_history, versions_seen_by
from registry.models import Tool
from registry.models.invocation import Caller
from registry.models.tool import ToolKind
from registry.needs import tell_needs
from registry.restoring import version_restore
from registry.results import Failed, Succeeded
from registry.review.drafts import draft_of
from registry.saved_files import FILES
from registry.search.facts import Narrowing
from registry.search.lookup import look_up, tools_like
from registry.search.service import Mode, SearchAnswer, search
from registry.search.why import why_words

READ_WRITE = read_write("tools")
RUN = {"POST": "tools:run"}
DEFAULT_TYPE = ToolKind.SEQUENCE.value
MOST_FILTERED = 50
"""Tools that an explained search tells were left out."""

MOST_RECENT = 20
"""Earlier messages that a search takes."""


class ToolPages(CursorPages):
    """Pages of tools: the best match first where something was searched for."""

    def get_ordering(self, request: Request, queryset: QuerySet[Any], view: Any) -> tuple[str, ...]:
        """Order by the rank that a search gave, else the newest first."""
        known = queryset.query.annotations
        if "rank" in known:
            return ("rank", "pk")
        return ("-merit", "pk") if "merit" in known else ("-created_at", "pk")


class VersionPages(CursorPages):
    """Pages of versions, the newest first."""

    ordering = ("-number", "pk")


class ToolListView(APIView):
    """List tools and make your own."""

    required_scopes = READ_WRITE

    @extend_schema(
        operation_id="tools_list",
        parameters=[OpenApiParameter(name, str) for name in ToolFilters.__annotations__],
        responses=shapes.ToolSerializer(many=True),
    )
    def get(self, request: SignedInApiRequest) -> Response:
        """List the tools that you may see. `owner` is a username or `me`."""
        pages = ToolPages()
        tools = tools_listed(request.user, ToolFilters.of(request.query_params.dict()))
        page = pages.paginate_queryset(tools, request, view=self)
        return pages.get_paginated_response(shapes.ToolSerializer(page, many=True).data)

    @extend_schema(request=shapes.ToolWriteSerializer, responses={201: shapes.ToolDetailSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest) -> Response:
        """Make a tool of your own. Its `type` says how the definition is read."""
        data = _written(request)
        tool = author_for(data["type"]).create(request.user, data)
        return Response(shapes.ToolDetailSerializer(tool).data, status=status.HTTP_201_CREATED)


class ToolView(APIView):
    """One tool."""

    required_scopes = READ_WRITE

    @extend_schema(operation_id="tools_retrieve", responses=shapes.ToolDetailSerializer)
    def get(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Show a tool; your own as you edit it, which may be a version that waits for review."""
        tool = selectors.tool_visible_to(request.user, tool_id)
        if tool.owner_id == request.user.pk and tool.package_id is None:
            tool = draft_of(tool)
        tell_needs([tool], request.user)
        return Response(shapes.ToolDetailSerializer(tool).data)

    @extend_schema(request=shapes.ToolWriteSerializer, responses=shapes.ToolDetailSerializer)
    def put(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Replace a tool of your own; its next version is published."""
        return self._updated(request, tool_id, _written(request))

    @extend_schema(request=shapes.ToolWriteSerializer, responses=shapes.ToolDetailSerializer)
    def patch(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Change the named fields of a tool of your own; its next version is published."""
        return self._updated(request, tool_id, _written(request, partial=True))

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Take a tool of your own out of the catalogue; its history stays."""
        tool = selectors.tool_owned_by(request.user, tool_id)
        author_for(tool.kind).delete(request.user, tool)
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _updated(self, request: SignedInApiRequest, tool_id: UUID, data: JsonObject) -> Response:
        tool = selectors.tool_owned_by(request.user, tool_id)
        tool = author_for(tool.kind).update(request.user, tool, data)
        return Response(shapes.ToolDetailSerializer(tool).data)


_NARROWED = ("kind", "category", "package", "health")


class ToolSearchView(APIView):
    """Find the tools that a need calls for."""

    required_scopes = READ_WRITE

    @extend_schema(
        operation_id="tools_search",
        parameters=[shapes.SearchQuerySerializer],
        responses=shapes.SearchAnswerSerializer,
    )
    def get(self, request: SignedInApiRequest) -> Response:
        """Find the tools that you may use: by a need in words, a pattern, a name or its beginning.

        `q` is the message, `query` (up to five times) what is needed in other words, `messages`
        what was said before. In the mode `exact` they are names, else `q` alone is read.
        """
        query = shapes.SearchQuerySerializer(data=request.query_params)
        query.is_valid(raise_exception=True)
        asked = query.validated_data
        mode, texts = Mode(asked["mode"]), [asked["q"], *asked["query"]]
        recent = _messages(asked.get("messages", ""))
        narrowing = Narrowing(**{name: asked[name] for name in _NARROWED})
        context = direct_context(
            request.user,
            caller=Caller.REST,
            scopes=scopes_of(request),
            agent=agent_asked(request, asked["agent"]),
        )

        def find(denied: frozenset[UUID]) -> SearchAnswer:
            if mode == Mode.WORDS:
                return search(
                    texts[0],
                    user=request.user,
                    recent=recent,
                    queries=texts[1:],
                    limit=asked["limit"],
                    exclude=denied,
                    scopes=context.scopes,
                    narrowing=narrowing,
                    explained=asked["explain"],
                )
            return look_up(
                [text for text in texts if text],
                mode=mode,
                user=request.user,
                limit=asked["limit"],
                exclude=denied,
                scopes=context.scopes,
                narrowing=narrowing,
            )

        answer = _permitted(find, context.denied)
        return Response(_found(answer, texts, request.user, explained=asked["explain"]))


class ToolSimilarView(APIView):
    """The tools that are like one."""

    required_scopes = READ_WRITE

    @extend_schema(
        operation_id="tools_similar",
        parameters=[shapes.SimilarQuerySerializer],
        responses=shapes.SimilarAnswerSerializer,
    )
    def get(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Tell which tools do much the same and work, the nearest first.

        `score` is 1 for a tool of the same words. Of a tool that is broken or deprecated these
        are what could be used in its place.
        """
        query = shapes.SimilarQuerySerializer(data=request.query_params)
        query.is_valid(raise_exception=True)
        tool = selectors.tool_visible_to(request.user, tool_id)
        alike = tools_like(tool, request.user, query.validated_data["limit"])
        return Response(shapes.SimilarAnswerSerializer({"results": alike}).data)


class ToolRunView(APIView):
    """Call a tool."""

    required_scopes = RUN

    @extend_schema(
        parameters=[calls.ToolRunQuerySerializer],
        request=calls.ToolRunSerializer,
        responses={200: calls.ToolRanSerializer, 202: calls.LaunchedSerializer},
    )
    @idempotent
    def post(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Call a tool with your own credentials, or with the variables in `env`.

        A sequence is started and answers 202 with its run; with `?wait=` it is waited for, up to 30
        seconds, and a run that is over by then comes with its `output` and `error`.
        """
        body = calls.ToolRunSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        query = calls.ToolRunQuerySerializer(data=request.query_params)
        query.is_valid(raise_exception=True)
        asked = body.validated_data
        tool = tool_to_call(request.user, tool_id)
        context = direct_context(
            request.user,
            caller=Caller.REST,
            scopes=scopes_of(request),
            given=asked["env"],
            agent=agent_asked(request, asked["agent"]),
            token=token_of(request),
        )
        run = launch(
            tool,
            asked["arguments"],
            context,
            version=asked["version"],
            wait_seconds=query.validated_data["wait"],
        )
        if run is not None:
            return Response(run, status=status.HTTP_202_ACCEPTED, headers={"Location": run["url"]})
        result = call_directly(tool, asked["arguments"], context, version=asked["version"])
        if isinstance(result, Failed):
            raise _refused(result)
        return _ran(result)


class ToolVersionsView(APIView):
    """The history of a tool."""

    required_scopes = READ_WRITE

    @extend_schema(operation_id="tools_versions", responses=shapes.VersionSerializer(many=True))
    def get(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """List the versions of a tool, the newest first."""
        pages = VersionPages()
        versions = versions_seen_by(request.user, tool_with_history(request.user, tool_id))
        page = pages.paginate_queryset(versions, request, view=self)
        return pages.get_paginated_response(shapes.VersionSerializer(page, many=True).data)


class VersionRestoreView(APIView):
    """An earlier version of a tool."""

    required_scopes = READ_WRITE

    @extend_schema(request=shapes.RestoreSerializer, responses=shapes.ToolDetailSerializer)
    @idempotent
    def post(self, request: SignedInApiRequest, tool_id: UUID, number: int) -> Response:
        """Publish what an earlier version was as the next one.

        For a tool of your own; as a reviewer for a tool of a package, which goes back as a whole.
        """
        body = shapes.RestoreSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        tool = tool_with_history(request.user, tool_id)
        reason = body.validated_data["reason"]
        restored = version_restore(tool, number, user=request.user, reason=reason)
        return Response(shapes.ToolDetailSerializer(restored).data)


def _written(request: SignedInApiRequest, *, partial: bool = False) -> JsonObject:
    body = shapes.ToolWriteSerializer(data=request.data, partial=partial)
    body.is_valid(raise_exception=True)
    sent: Any = request.data  # an object, or the body would not be valid
    return {"type": DEFAULT_TYPE, **sent}


def _ran(result: Succeeded) -> Response:
    return Response(
        {
            "status": "succeeded",
            "output": result.output,
            "duration_ms": result.duration_ms,
            "invocation": str(result.invocation_id),
            "artifacts": [_file(file) for file in (result.details or {}).get(FILES, [])],
        }
    )


def _file(file: JsonObject) -> JsonObject:
    told = {name: file[name] for name in ("name", "media_type", "size")}
    return {**told, "content": file["data"]}


def _refused(result: Failed) -> ToolError:
    if result.invocation_id is not None:
        result.error.extra["invocation"] = str(result.invocation_id)
    return result.error


def _messages(text: str) -> list[str]:
    if not text:
        return []
    try:
        messages = json.loads(text)
    except (ValueError, RecursionError):
        messages = None
    if not isinstance(messages, list) or not all(isinstance(item, str) for item in messages):
        raise InvalidInput(
            "“messages” must be a JSON list of texts.", 'Send messages=["earlier message"].'
        )
    return messages[-MOST_RECENT:]


def _permitted(find: Callable[[frozenset[UUID]], SearchAnswer], denied: Denied) -> SearchAnswer:
    """Search again without what is denied, until nothing that was found is."""
    refused: frozenset[UUID] = frozenset()
    while True:
        answer = find(refused)
        more = frozenset(hit.tool_id for hit in answer.found if denied(hit.tool_id))
        if not more:
            return answer.without(
                frozenset(hit.tool_id for hit in answer.hits if denied(hit.tool_id))
            )
        refused |= more


def _found(
    answer: SearchAnswer, texts: list[str], user: User, *, explained: bool
) -> dict[str, Any]:
    tools = selectors.tools_visible_to(user).in_bulk([hit.tool_id for hit in answer.found])
    results = [
        {
            "tool": shapes.ToolSerializer(tools[hit.tool_id]).data,
            "score": hit.score,
            "why": hit.why or _why(texts, tools[hit.tool_id]),
            **({"parts": hit.explanation.as_dict()} if hit.explanation else {}),
            "duplicates": [shapes.DuplicateSerializer(each).data for each in hit.duplicates],
        }
        for hit in answer.found
        if hit.tool_id in tools
    ]
    filtered = [
        {
            "tool": str(hit.tool_id),
            "name": hit.wire_name,
            "score": hit.score,
            "reason": hit.reason,
        }
        for hit in answer.hits
        if not hit.injected
    ]
    return {
        "query": answer.query,
        "results": results,
        **({"filtered": filtered[:MOST_FILTERED]} if explained else {}),
        "total": answer.total,
        "took_ms": answer.took_ms,
        "mode": answer.mode.value,
        "dense": answer.dense,
    }


def _why(texts: list[str], tool: Tool) -> str:
    return why_words(texts, (tool.wire_name, tool.title, tool.description))
