"""The shapes of `/api/v1/proposals/…`."""

from typing import Any

from rest_framework import serializers

from config.lib.api_bodies import Body
from registry.models import Proposal
from registry.models.proposal import Cause
from registry.services import LONGEST_DECISION


class ProposedVersionSerializer(serializers.Serializer[Any]):
    """A version of a tool that is proposed; `live` is null where the tool is new."""

    tool = serializers.UUIDField()
    export = serializers.CharField()
    number = serializers.IntegerField()
    live = serializers.IntegerField(allow_null=True)


class ProposalFindingSerializer(serializers.Serializer[Any]):
    """What a scan found; what is introduced and blocks has to be accepted by its code."""

    code = serializers.CharField()
    path = serializers.CharField()
    message = serializers.CharField()
    severity = serializers.ChoiceField(choices=["block", "warn", "info"])
    introduced = serializers.BooleanField()


class ProposalSerializer(serializers.ModelSerializer[Proposal]):
    """A change that waits for review, or was decided on."""

    package = serializers.UUIDField(source="package_id", allow_null=True, read_only=True)
    tool = serializers.UUIDField(source="tool_id", allow_null=True, read_only=True)
    subject = serializers.SerializerMethodField(help_text="The name of the package or the tool.")
    cause = serializers.ChoiceField(choices=Cause.choices, read_only=True)
    versions = ProposedVersionSerializer(many=True, read_only=True)
    removed = serializers.ListField(child=serializers.UUIDField(), read_only=True)
    findings = ProposalFindingSerializer(many=True, read_only=True)
    openedBy = serializers.CharField(source="opened_by.username", default=None, read_only=True)
    openedAt = serializers.DateTimeField(source="opened_at", read_only=True)
    decidedBy = serializers.CharField(source="decided_by.username", default=None, read_only=True)
    decidedAt = serializers.DateTimeField(source="decided_at", allow_null=True, read_only=True)
    decisionReason = serializers.CharField(source="decision_reason", read_only=True)

    class Meta:
        model = Proposal
        fields = (
            "id",
            "package",
            "tool",
            "subject",
            "cause",
            "state",
            "versions",
            "removed",
            "findings",
            "openedBy",
            "openedAt",
            "decidedBy",
            "decidedAt",
            "decisionReason",
        )

    def get_subject(self, proposal: Proposal) -> str:
        if proposal.package:
            return proposal.package.name
        return proposal.tool.wire_name if proposal.tool else ""


class ProposalDetailSerializer(ProposalSerializer):
    """A proposal with the package's values before and after; `before` is empty for a new one."""

    before = serializers.DictField(read_only=True)
    after = serializers.DictField(read_only=True)

    class Meta:
        model = Proposal
        fields = (*ProposalSerializer.Meta.fields, "before", "after")


class DecisionSerializer(Body):
    """A decision; a reason is needed to reject or quarantine."""

    reason = serializers.CharField(
        max_length=LONGEST_DECISION, required=False, allow_blank=True, default=""
    )


class ApprovalSerializer(DecisionSerializer):
    """An approval, with the codes of the blocking findings that it accepts."""

    accept = serializers.ListField(
        child=serializers.CharField(max_length=64), required=False, default=list, max_length=100
    )
