"""`/api/v1/proposals/…`: what waits for review, and the decisions on it."""

from collections.abc import Callable
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.api import CursorPages, read_write
from config.lib.errors import InvalidInput
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from registry.api.proposal_serializers import (
    ApprovalSerializer,
    DecisionSerializer,
    ProposalDetailSerializer,
    ProposalSerializer,
)
from registry.models import Proposal
from registry.models.proposal import ProposalState
from registry.review.deciding import proposal_approve, proposal_quarantine, proposal_reject
from registry.review.selectors import proposal_visible_to, proposals_visible_to

READ_WRITE = read_write("tools")


class ProposalPages(CursorPages):
    """Pages of proposals, the newest first."""

    ordering = ("-opened_at", "pk")


class ProposalListView(APIView):
    """What waits for review, and what was decided."""

    required_scopes = READ_WRITE

    @extend_schema(
        operation_id="proposals_list",
        parameters=[OpenApiParameter("state", str, enum=ProposalState.values)],
        responses=ProposalSerializer(many=True),
    )
    def get(self, request: SignedInApiRequest) -> Response:
        """List the proposals about what is yours; a reviewer or an auditor sees all."""
        proposals = proposals_visible_to(request.user).defer("before", "after")
        if state := request.query_params.get("state", ""):
            if state not in ProposalState.values:
                raise InvalidInput(
                    "There is no such state.", f"Choose one of {', '.join(ProposalState.values)}."
                )
            proposals = proposals.filter(state=state)
        pages = ProposalPages()
        page = pages.paginate_queryset(proposals, request, view=self)
        return pages.get_paginated_response(ProposalSerializer(page, many=True).data)


class ProposalView(APIView):
    """One proposal."""

    required_scopes = READ_WRITE

    @extend_schema(operation_id="proposals_retrieve", responses=ProposalDetailSerializer)
    def get(self, request: SignedInApiRequest, proposal_id: UUID) -> Response:
        """Show a proposal."""
        proposal = proposal_visible_to(request.user, proposal_id)
        return Response(ProposalDetailSerializer(proposal).data)


class ProposalApproveView(APIView):
    """The approval of a proposal."""

    required_scopes = READ_WRITE

    @extend_schema(request=ApprovalSerializer, responses=ProposalDetailSerializer)
    @idempotent
    def post(self, request: SignedInApiRequest, proposal_id: UUID) -> Response:
        """Make what is proposed the live one; for reviewers."""
        return _decided(request, proposal_id, proposal_approve, ApprovalSerializer)


class ProposalRejectView(APIView):
    """The rejection of a proposal."""

    required_scopes = READ_WRITE

    @extend_schema(request=DecisionSerializer, responses=ProposalDetailSerializer)
    @idempotent
    def post(self, request: SignedInApiRequest, proposal_id: UUID) -> Response:
        """Refuse what is proposed; what is live stays; for reviewers."""
        return _decided(request, proposal_id, proposal_reject, DecisionSerializer)


class ProposalQuarantineView(APIView):
    """The quarantine of a proposal."""

    required_scopes = READ_WRITE

    @extend_schema(request=DecisionSerializer, responses=ProposalDetailSerializer)
    @idempotent
    def post(self, request: SignedInApiRequest, proposal_id: UUID) -> Response:
        """Refuse what is proposed as dangerous; what is live stays; for reviewers."""
        return _decided(request, proposal_id, proposal_quarantine, DecisionSerializer)


def _decided(
    request: SignedInApiRequest,
    proposal_id: UUID,
    decide: Callable[..., Proposal],
    shape: type[DecisionSerializer],
) -> Response:
    """Decide on a proposal with what the body says, and tell how it stands then."""
    proposal = proposal_visible_to(request.user, proposal_id)
    body = shape(data=request.data)
    body.is_valid(raise_exception=True)
    decided = decide(proposal, by=request.user, **body.validated_data)
    return Response(ProposalDetailSerializer(decided).data)
