"""`/api/v1/search/weights/…`: what the ranking of tools weighs."""

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.api import read_write
from config.lib.http import SignedInApiRequest
from registry.api import weights_serializers as shapes
from registry.search.in_force import weights_history, weights_now
from registry.search.weights import BOUNDS
from registry.weighing import weights_restore, weights_save

READ_WRITE = read_write("tools")


class SearchWeightsView(APIView):
    """The weights in force."""

    required_scopes = READ_WRITE

    @extend_schema(operation_id="search_weights_retrieve", responses=shapes.WeightsSerializer)
    def get(self, request: SignedInApiRequest) -> Response:
        """Show the weights in force, and what each may be."""
        bounds = [{"name": name, **bound._asdict()} for name, bound in BOUNDS.items()]
        told = shapes.DecidedSerializer(weights_now()).data
        return Response({**told, "bounds": shapes.BoundSerializer(bounds, many=True).data})

    @extend_schema(request=shapes.WeightsWriteSerializer, responses=shapes.DecidedSerializer)
    def put(self, request: SignedInApiRequest) -> Response:
        """Put other weights in force for everybody; governors only."""
        body = shapes.WeightsWriteSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        asked = body.validated_data
        saved = weights_save(
            request.user, asked["values"], asked["reason"], based_on=asked["based_on"]
        )
        return Response(shapes.DecidedSerializer(saved).data)


class SearchWeightsHistoryView(APIView):
    """What was in force before."""

    required_scopes = READ_WRITE

    @extend_schema(
        operation_id="search_weights_history", responses=shapes.DecidedSerializer(many=True)
    )
    def get(self, request: SignedInApiRequest) -> Response:
        """List the decisions, the newest first, and what the product brings at the end."""
        return Response([shapes.DecidedSerializer(each).data for each in weights_history()])


class SearchWeightsRestoreView(APIView):
    """The way back."""

    required_scopes = READ_WRITE

    @extend_schema(request=shapes.WeightsRestoreSerializer, responses=shapes.DecidedSerializer)
    def post(self, request: SignedInApiRequest) -> Response:
        """Put the weights of an earlier version in force again; governors only."""
        body = shapes.WeightsRestoreSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        asked = body.validated_data
        restored = weights_restore(
            request.user, asked["version"], asked["reason"], based_on=asked["based_on"]
        )
        return Response(shapes.DecidedSerializer(restored).data)
