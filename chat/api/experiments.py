"""`/api/v1/agents/{slug}/experiments/…`."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from agents import experiments, selectors
from agents.experiments import ToolsetPlan, present_toolset
from agents.models import Agent
from chat.api import experiment_serializers as shapes
from chat.experiments import results_of
from config.lib.api import CursorPages, read_write
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from config.lib.types import JsonObject

EXPERIMENTS = read_write("agents")


class ExperimentListView(APIView):
    """List and draw up experiments with an agent."""

    required_scopes = EXPERIMENTS

    @extend_schema(
        responses=shapes.ExperimentSerializer(many=True), operation_id="experiments_list"
    )
    def get(self, request: SignedInApiRequest, slug: str) -> Response:
        """List the experiments with an agent that you may see, the newest first."""
        agent = selectors.agent_visible_to(request.user, slug)
        pages = CursorPages()
        rows = experiments.experiments_of(agent).prefetch_related("arms__links")
        page = pages.paginate_queryset(rows, request, view=self)
        return pages.get_paginated_response(shapes.ExperimentSerializer(page, many=True).data)

    @extend_schema(
        request=shapes.ExperimentWriteSerializer, responses={201: shapes.ExperimentSerializer}
    )
    @idempotent
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Draw up an experiment with your own agent; it begins when it is started.

        Without `a`, toolset A is what the agent carries now.
        """
        agent = selectors.agent_owned_by(request.user, slug)
        body = shapes.ExperimentWriteSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        fields = dict(body.validated_data)
        a, b = fields.pop("a", None), fields.pop("b")
        made = experiments.experiment_create(
            agent,
            by=request.user,
            a=_plan(agent, a) if a else present_toolset(agent),
            b=_plan(agent, b),
            **fields,
        )
        return Response(shapes.ExperimentSerializer(made).data, status=status.HTTP_201_CREATED)


class ExperimentView(APIView):
    """One experiment."""

    required_scopes = EXPERIMENTS

    @extend_schema(responses=shapes.ExperimentSerializer, operation_id="experiments_retrieve")
    def get(self, request: SignedInApiRequest, slug: str, experiment_id: UUID) -> Response:
        """Show an experiment."""
        experiment = experiments.experiment_visible_to(request.user, slug, experiment_id)
        return Response(shapes.ExperimentSerializer(experiment).data)

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, slug: str, experiment_id: UUID) -> Response:
        """Delete an experiment that does not run; its conversations stay."""
        experiment = experiments.experiment_owned_by(request.user, slug, experiment_id)
        experiments.experiment_delete(experiment, by=request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)


class ExperimentStartView(APIView):
    """The start of an experiment."""

    required_scopes = EXPERIMENTS

    @extend_schema(request=None, responses=shapes.ExperimentSerializer)
    @idempotent
    def post(self, request: SignedInApiRequest, slug: str, experiment_id: UUID) -> Response:
        """Let the lot decide on the agent's new conversations from now on."""
        experiment = experiments.experiment_owned_by(request.user, slug, experiment_id)
        experiments.experiment_start(experiment, by=request.user)
        return _told(request, slug, experiment_id)


class ExperimentEndView(APIView):
    """The end of an experiment."""

    required_scopes = EXPERIMENTS

    @extend_schema(request=None, responses=shapes.ExperimentSerializer)
    @idempotent
    def post(self, request: SignedInApiRequest, slug: str, experiment_id: UUID) -> Response:
        """End an experiment; its conversations go on with the agent's own tools."""
        experiment = experiments.experiment_owned_by(request.user, slug, experiment_id)
        experiments.experiment_end(experiment, by=request.user)
        return _told(request, slug, experiment_id)


class ExperimentResultsView(APIView):
    """What an experiment has shown."""

    required_scopes = EXPERIMENTS

    @extend_schema(responses=shapes.ExperimentResultsSerializer)
    def get(self, request: SignedInApiRequest, slug: str, experiment_id: UUID) -> Response:
        """Compare both toolsets in every measure."""
        experiment = experiments.experiment_visible_to(request.user, slug, experiment_id)
        return Response(shapes.ExperimentResultsSerializer(results_of(experiment)).data)


def _told(request: SignedInApiRequest, slug: str, experiment_id: UUID) -> Response:
    experiment = experiments.experiment_visible_to(request.user, slug, experiment_id)
    return Response(shapes.ExperimentSerializer(experiment).data)


def _plan(agent: Agent, sent: JsonObject) -> ToolsetPlan:
    return ToolsetPlan(
        tools={item["toolId"]: item.get("version") for item in sent["tools"]},
        discovery_mode=sent.get("discoveryMode") or agent.discovery_mode,
    )
