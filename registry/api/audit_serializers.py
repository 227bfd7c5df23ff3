"""The shape of `/api/v1/audit/`."""

from rest_framework import serializers

from config.lib.types import JsonObject
from registry.audit.calls import masked_by_name
from registry.models import (
    AuditEvent,
)


class AuditEventSerializer(serializers.ModelSerializer[AuditEvent]):
    """One change; `before` and `after` hold the columns that changed."""

    actor = serializers.CharField(source="actor_name", read_only=True)
    requestId = serializers.CharField(source="request_id", read_only=True)
    objectId = serializers.CharField(source="object_id", read_only=True)
    object = serializers.CharField(source="object_label", read_only=True)
    subjectModel = serializers.CharField(source="subject_model", read_only=True)
    subjectId = serializers.CharField(source="subject_id", read_only=True)
    before = serializers.SerializerMethodField()
    after = serializers.SerializerMethodField()

    class Meta:
        model = AuditEvent
        fields = (
            *("id", "at", "actor", "source", "requestId", "method", "path", "reason"),
            *("model", "objectId", "object", "subjectModel", "subjectId", "operation"),
            *("before", "after"),
        )

    def get_before(self, event: AuditEvent) -> JsonObject:
        """Return the columns as they were."""
        told: JsonObject = masked_by_name(event.before)
        return told

    def get_after(self, event: AuditEvent) -> JsonObject:
        """Return the columns as they became."""
        told: JsonObject = masked_by_name(event.after)
        return told
