"""`/api/v1/agents/{slug}/export/`, `/clone/` and `/api/v1/agents/import/`."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from agents import portable, selectors
from agents.api.serializers import AgentSerializer
from agents.documents import read_document
from config.lib.api import require_held
from config.lib.api_bodies import Body
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from config.lib.types import JsonObject


class AgentDocumentSerializer(Body):
    """An agent without its credentials and conversations; tools are named by their packages."""

    format = serializers.ChoiceField(choices=["outfitter-agent"])
    version = serializers.IntegerField()
    settings = serializers.DictField()
    tools = serializers.ListField(child=serializers.DictField(), required=False)
    rules = serializers.ListField(child=serializers.DictField(), required=False)


class AgentCopiedSerializer(serializers.Serializer[object]):
    """What came of it; `notes` tell what could not be had here. A preview has no `agent`."""

    agent = AgentSerializer(required=False)
    tools = serializers.ListField(child=serializers.CharField())
    rules = serializers.IntegerField()
    notes = serializers.ListField(child=serializers.CharField())


class AgentCloneSerializer(Body):
    """What the copy is called; empty: “Copy of …”."""

    name = serializers.CharField(max_length=80, required=False, allow_blank=True)


class AgentExportView(APIView):
    """An agent as a document."""

    required_scopes = {"GET": "agents:read"}

    @extend_schema(responses=AgentDocumentSerializer)
    def get(self, request: SignedInApiRequest, slug: str) -> Response:
        """Write an agent down; presets that are named like secrets are left out and named."""
        agent = selectors.agent_visible_to(request.user, slug)
        return Response(portable.agent_written(agent).as_json())


class AgentImportView(APIView):
    """Agents from documents."""

    required_scopes = {"POST": "agents:write"}

    @extend_schema(
        request=AgentDocumentSerializer,
        parameters=[OpenApiParameter("preview", bool, description="Make nothing; only tell.")],
        responses={200: AgentCopiedSerializer, 201: AgentCopiedSerializer},
    )
    @idempotent
    def post(self, request: SignedInApiRequest) -> Response:
        """Make an agent of your own from a document, with those of its tools that you may use."""
        document = read_document(request.data)
        if request.query_params.get("preview", "").lower() in ("1", "true"):
            return Response(_told(portable.agent_preview(request.user, document), made=False))
        require_held(request, document.settings.scopes or ())
        copied = portable.agent_read(request.user, document)
        return Response(_told(copied), status=status.HTTP_201_CREATED)


class AgentCloneView(APIView):
    """Copies of agents."""

    required_scopes = {"POST": "agents:write"}

    @extend_schema(request=AgentCloneSerializer, responses={201: AgentCopiedSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Make a copy of an agent that you may talk to; it is yours, without credentials."""
        body = AgentCloneSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        agent = selectors.agent_visible_to(request.user, slug)
        require_held(request, agent.scopes)
        copied = portable.agent_clone(agent, request.user, body.validated_data.get("name", ""))
        return Response(_told(copied), status=status.HTTP_201_CREATED)


def _told(copied: portable.Copied, *, made: bool = True) -> JsonObject:
    agent: JsonObject = {"agent": AgentSerializer(copied.agent).data} if made else {}
    return {**agent, **portable.copied_as_json(copied)}
