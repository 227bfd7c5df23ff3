"""`/api/v1/sequences/describe/`."""

from asgiref.sync import async_to_sync
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from chat.api import describing_serializers as shapes
from chat.demo import is_demo
from chat.describing import described, models_for
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from registry.executors.base import give_back_connection
from sequences.beginnings import draft_from_document


class SequenceDescribeView(APIView):
    """Sequences from words."""

    required_scopes = {"GET": "chat", "POST": ("chat", "tools:write")}

    @extend_schema(
        operation_id="sequences_describe_models", responses=shapes.OfferedModelSerializer(many=True)
    )
    def get(self, request: SignedInApiRequest) -> Response:
        """List the models that you may ask: the site's first, then those of your agents."""
        models = models_for(request.user)
        return Response([{"name": name, "demo": is_demo(name)} for name in models])

    @extend_schema(request=shapes.DescribeSerializer, responses={201: shapes.DescribedSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest) -> Response:
        """Have a model draft a sequence; nothing is published. It may take a minute.

        422 `nothing_drafted` says why nothing came of the words, 424 that the model did not answer.
        """
        body = shapes.DescribeSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        words, user = body.validated_data["words"], request.user
        model = body.validated_data["model"] or models_for(user)[0]
        give_back_connection()
        outcome = async_to_sync(described)(user, words, model)
        begun = draft_from_document(user, outcome.whole, label="Described in words")
        address = reverse("draft-detail", args=[begun.draft.pk])
        told = {
            "draft": str(begun.draft.pk),
            "drafts": [str(row.pk) for row in begun.inner],
            "page": reverse("sequences:draft_edit", args=[begun.draft.pk]),
            "madeOfIt": outcome.made_of_it,
            "leftOpen": list(outcome.left_open),
            "notes": list(begun.notes),
            "tries": outcome.rounds,
        }
        return Response(told, status=status.HTTP_201_CREATED, headers={"Location": address})
