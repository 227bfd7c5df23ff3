"""Shapes of drafts in the REST API."""

from typing import Any

from rest_framework import serializers

from config.lib.api_bodies import Body
from registry.models.tool import Visibility
from registry.scopes import LONGEST_SCOPE
from sequences.forms.drafts import draft_from_json
from sequences.models import SequenceDraft
from sequences.versions import LONGEST_NAME as LONGEST_VERSION_NAME

SCOPE_FORM = r"^[!#-+\--\[\]-~]+$"
"""What a scope is made of (RFC 6749, 3.3), but for the comma: the builder takes it for a space."""


class DraftFilterSerializer(serializers.Serializer[Any]):
    """What a list of drafts can be narrowed to."""

    sequence = serializers.UUIDField(required=False, help_text="The draft of this sequence.")


class DraftListedSerializer(serializers.ModelSerializer[SequenceDraft]):
    """A draft in a list. `sequence` is null until it is published for the first time."""

    name = serializers.SerializerMethodField()
    sequence = serializers.UUIDField(source="tool_id", read_only=True, allow_null=True)
    baseVersion = serializers.IntegerField(source="base_version", read_only=True)
    hasChanges = serializers.BooleanField(source="has_changes", read_only=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)
    updatedAt = serializers.DateTimeField(source="updated_at", read_only=True)
    updatedBy = serializers.CharField(source="updated_by.username", default=None, read_only=True)

    class Meta:
        model = SequenceDraft
        fields: tuple[str, ...] = (
            *("id", "name", "sequence", "revision", "baseVersion", "hasChanges"),
            *("createdAt", "updatedAt", "updatedBy"),
        )
        read_only_fields = fields

    def get_name(self, draft: SequenceDraft) -> str:
        """Return the name that it has by now; perhaps empty."""
        return draft_from_json(draft.document).name


class DraftSerializer(DraftListedSerializer):
    """A draft, however unfinished; `definition` may hold what is no definition yet.

    `inputSchema` is null while it is no JSON. `undo` and `redo` say what they would take back and
    bring again, null where there is nothing. A `currentVersion` above `baseVersion` was published
    since the draft began.
    """

    description = serializers.CharField()
    visibility = serializers.CharField()
    team = serializers.CharField(allow_null=True)
    requiredScopes = serializers.ListField(child=serializers.CharField())
    definition = serializers.DictField()
    inputSchema = serializers.JSONField(allow_null=True)
    reason = serializers.CharField(help_text="The note on the version that it becomes.")
    currentVersion = serializers.IntegerField()
    undo = serializers.CharField(allow_null=True)
    redo = serializers.CharField(allow_null=True)
    page = serializers.CharField(help_text="Where a person goes on with it.")

    class Meta(DraftListedSerializer.Meta):
        fields: tuple[str, ...] = (
            *(*DraftListedSerializer.Meta.fields, "description", "visibility", "team"),
            *("requiredScopes", "definition", "inputSchema", "reason", "currentVersion"),
            *("undo", "redo", "page"),
        )
        read_only_fields = fields


class DraftWriteSerializer(Body):
    """What a draft is to say; whatever it leaves out stays as it is.

    A `definition` or `inputSchema` that is sent as it was read stays, however unfinished. Another
    definition has the form that `sequences/schema/` tells; what else is wrong with it is listed by
    `problems/` and keeps it from being published only. A step keeps what is known of its tests as
    long as it keeps its `key`.
    """

    name = serializers.CharField(max_length=1_000, allow_blank=True)
    description = serializers.CharField(required=False, allow_blank=True)
    visibility = serializers.ChoiceField(choices=Visibility.choices, required=False)
    team = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    definition = serializers.DictField()
    inputSchema = serializers.JSONField(allow_null=True)
    requiredScopes = serializers.ListField(
        child=serializers.RegexField(SCOPE_FORM, max_length=LONGEST_SCOPE), required=False
    )
    reason = serializers.CharField(required=False, allow_blank=True, max_length=200)


class DraftBeginSerializer(DraftWriteSerializer):
    """What a new draft says; what is left out is as in a new sequence in the builder."""

    name = serializers.CharField(max_length=1_000, allow_blank=True, required=False)
    definition = serializers.DictField(required=False)
    inputSchema = serializers.JSONField(allow_null=True, required=False)


class RevisionSerializer(Body):
    """Which state of a draft is meant."""

    revision = serializers.IntegerField(
        required=False,
        min_value=1,
        help_text="The one that you read: `draft_conflict` if it is another by now.",
    )


class PublishSerializer(RevisionSerializer):
    """What is published, and that what breaks by it is known."""

    agreed = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=200,
        help_text="`extra.agreed` of the refusal `agreement_needed`, to go on all the same.",
    )


class SequenceDraftSerializer(Body):
    """With what the draft of a published sequence is opened."""

    version = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="Put what this version says into the draft; undo leads back.",
    )


class ProblemSerializer(serializers.Serializer[Any]):
    """One thing to mend: its JSON path, the number of its step and its field, if it has them."""

    path = serializers.CharField()
    step = serializers.IntegerField(allow_null=True)
    field = serializers.CharField(allow_null=True)
    message = serializers.CharField()


class DraftProblemsSerializer(serializers.Serializer[Any]):
    """What keeps a draft from being published, and what is worth a look and may be meant so."""

    problems = ProblemSerializer(many=True)
    notices = ProblemSerializer(many=True)


class VersionNameSerializer(serializers.Serializer[Any]):
    """A version of a sequence and what it is called; perhaps nothing."""

    number = serializers.IntegerField()
    name = serializers.CharField(allow_blank=True)


class VersionNameWriteSerializer(Body):
    """A name for a version; an empty one takes it away."""

    name = serializers.CharField(allow_blank=True, max_length=LONGEST_VERSION_NAME)
