"""The shapes of tools, their versions and the search for them."""

from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.lib.api_bodies import Body
from config.lib.errors import InvalidInput
from registry.api.effect_serializers import AnnotationsSerializer
from registry.api.explained_serializers import PartsSerializer
from registry.effects import known_of, scopes_within
from registry.models import (
    Package,
    Tool,
    ToolVersion,
)
from registry.models.health import UNWELL, Health, HealthState
from registry.models.tool import ToolKind, Visibility
from registry.restoring import LONGEST_RESTORE_REASON
from registry.scopes import LONGEST_SCOPE
from registry.search.dense import meaning
from registry.search.lookup import Alike
from registry.search.need import LONGEST_QUERY, MOST_QUERIES
from registry.search.service import Mode
from registry.search.variety import Duplicate, Hit


class ToolPackageSerializer(serializers.ModelSerializer[Package]):
    """The package of a tool, in short."""

    class Meta:
        model = Package
        fields = ("id", "ecosystem", "name", "version", "env")


class DeprecatedSerializer(serializers.Serializer[Tool]):
    """From which day on a tool is deprecated, and the wire name of the tool to use instead."""

    on = serializers.DateField(source="deprecated_on")
    successor = serializers.CharField(source="successor.wire_name", default=None, allow_null=True)
    note = serializers.CharField(source="deprecation_note")


class ToolSerializer(serializers.ModelSerializer[Tool]):
    """A tool as it is told; `name` is what models call it by."""

    name = serializers.CharField(source="wire_name", read_only=True)
    type = serializers.CharField(source="kind", read_only=True)
    exportName = serializers.CharField(source="export_name", read_only=True)
    inputSchema = serializers.DictField(source="input_schema", read_only=True)
    outputSchema = serializers.DictField(source="output_schema", allow_null=True, read_only=True)
    aiAgent = serializers.DictField(source="ai_agent", read_only=True)
    requiredScopes = serializers.ListField(
        child=serializers.CharField(), source="required_scopes", read_only=True
    )
    timeoutSeconds = serializers.IntegerField(source="timeout_seconds", read_only=True)
    quality = serializers.FloatField(read_only=True)
    health = serializers.ChoiceField(
        choices=HealthState.choices, source="health_state", read_only=True
    )
    importHealth = serializers.CharField(source="import_health", read_only=True)
    executionHealth = serializers.CharField(source="execution_health", read_only=True)
    healthError = serializers.DictField(source="health_error", allow_null=True, read_only=True)
    lastHealthCheckAt = serializers.DateTimeField(
        source="last_health_check_at", allow_null=True, read_only=True
    )
    package = ToolPackageSerializer(allow_null=True, read_only=True)
    owner = serializers.CharField(source="owner.username", default=None, read_only=True)
    team = serializers.CharField(source="team.name", default=None, read_only=True)
    reviewStatus = serializers.CharField(source="review_status", read_only=True)
    callsPerMinute = serializers.IntegerField(
        source="calls_per_minute",
        read_only=True,
        allow_null=True,
        help_text="For each caller; null: the site's default.",
    )
    costPerCall = serializers.DecimalField(
        source="cost_per_call",
        max_digits=12,
        decimal_places=6,
        read_only=True,
        allow_null=True,
        help_text="US dollars.",
    )
    stoppedAt = serializers.DateTimeField(source="stopped_at", read_only=True, allow_null=True)
    stoppedReason = serializers.CharField(source="stopped_reason", read_only=True)
    deprecated = serializers.SerializerMethodField()
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)
    updatedAt = serializers.DateTimeField(source="updated_at", read_only=True)

    class Meta:
        model = Tool
        fields = (
            "id",
            "name",
            "title",
            "description",
            "type",
            "kind",
            "category",
            "exportName",
            "inputSchema",
            "outputSchema",
            "aiAgent",
            "requiredScopes",
            "timeoutSeconds",
            "callsPerMinute",
            "costPerCall",
            "stoppedAt",
            "stoppedReason",
            "version",
            "quality",
            "health",
            "importHealth",
            "executionHealth",
            "healthError",
            "lastHealthCheckAt",
            "package",
            "owner",
            "team",
            "visibility",
            "reviewStatus",
            "deprecated",
            "createdAt",
            "updatedAt",
        )

    @extend_schema_field(DeprecatedSerializer(allow_null=True))
    def get_deprecated(self, tool: Tool) -> Any:
        """Return the deprecation, or null."""
        return DeprecatedSerializer(tool).data if tool.deprecated_on else None


class ToolDetailSerializer(ToolSerializer):
    """A tool with its definition: a sequence's steps, or the request of an HTTP tool.

    `missingEnv` are the variables that you have not set. `liveVersion` is the one that everybody
    has; a greater `version` of your own tool waits for review. `annotations` is null where the
    version is not kept; `stepsRequire` has the scopes that the steps of a sequence need, each with
    the tools that need it, besides its own `requiredScopes`.
    """

    annotations = serializers.SerializerMethodField()
    stepsRequire = serializers.SerializerMethodField(method_name="get_steps_require")
    liveVersion = serializers.SerializerMethodField(method_name="get_live_version")

    definition = serializers.DictField(allow_null=True, read_only=True)
    missingEnv = serializers.ListField(
        child=serializers.CharField(), source="needs", read_only=True
    )

    class Meta:
        model = Tool
        fields = (
            *(*ToolSerializer.Meta.fields, "definition", "annotations", "stepsRequire"),
            *("missingEnv", "liveVersion"),
        )

    @extend_schema_field(AnnotationsSerializer(allow_null=True))
    def get_annotations(self, tool: Tool) -> Any:
        """Return what is known of its calls, or null."""
        known = known_of(tool)
        return AnnotationsSerializer(known).data if known else None

    def get_steps_require(self, tool: Tool) -> dict[str, list[str]]:
        """Return the scopes of a sequence's steps; of other tools none."""
        return scopes_within(tool.definition if tool.kind == ToolKind.SEQUENCE else None)

    def get_live_version(self, tool: Tool) -> int:
        """Return the number of the live version."""
        return tool.live_version or tool.version


class VersionSerializer(serializers.ModelSerializer[ToolVersion]):
    """One version of a tool; `snapshot` is all that decided how it was described and run."""

    author = serializers.CharField(source="author.username", default=None, read_only=True)
    live = serializers.SerializerMethodField()
    approved = serializers.SerializerMethodField()
    snapshot = serializers.DictField(read_only=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = ToolVersion
        fields = (
            "number",
            "live",
            "approved",
            "digest",
            "reason",
            "author",
            "snapshot",
            "createdAt",
        )

    def get_live(self, version: ToolVersion) -> bool:
        """Say whether this is what a call without a version runs."""
        return version.number == version.tool.version

    def get_approved(self, version: ToolVersion) -> bool:
        """Say whether a reviewer has approved the tool as it was then."""
        return version.number not in version.tool.unreviewed_versions


LONGEST_MESSAGES = 500_000
"""Characters of all earlier messages together."""

SEARCHED_STATES = (*HealthState.values, Health.BROKEN.value, UNWELL)


def _told(known: Iterable[str]) -> dict[str, Any]:
    return {"invalid_choice": f"Give one of {', '.join(known)}."}


class SearchQuerySerializer(serializers.Serializer[Any]):
    """What to search for."""

    q = serializers.CharField(
        max_length=20_000,
        allow_blank=True,
        default="",
        help_text="The message; in other modes a name, its beginning, or a pattern.",
    )
    query = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_QUERY),
        max_length=MOST_QUERIES,
        default=list,
        help_text="A need in other words, to be sent up to five times; with `exact` another name.",
    )
    messages = serializers.CharField(
        required=False,
        max_length=LONGEST_MESSAGES,
        help_text="Earlier messages: a JSON list of texts.",
    )
    mode = serializers.ChoiceField(
        choices=[mode.value for mode in Mode],
        default=Mode.WORDS.value,
        help_text="`words` ranks by a need; `exact` finds names and titles, `prefix` names by how "
        "their words begin, `regex` texts by a regular expression.",
    )
    limit = serializers.IntegerField(min_value=1, max_value=50, default=5)
    explain = serializers.BooleanField(default=False)
    agent = serializers.CharField(
        max_length=60,
        required=False,
        allow_blank=True,
        default="",
        help_text="Find only what this agent's scopes allow and it does not deny.",
    )
    kind = serializers.ChoiceField(
        choices=ToolKind.values,
        allow_blank=True,
        default="",
        error_messages=_told(ToolKind.values),
        help_text="Search only tools of this kind.",
    )
    category = serializers.CharField(
        max_length=64,
        required=False,
        allow_blank=True,
        default="",
        help_text="Search only this category.",
    )
    package = serializers.CharField(
        max_length=214,
        required=False,
        allow_blank=True,
        default="",
        help_text="Search only the tools of the package or server of this name.",
    )
    health = serializers.ChoiceField(
        choices=SEARCHED_STATES,
        allow_blank=True,
        default="",
        error_messages=_told(SEARCHED_STATES),
        help_text="Search only tools in this state.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse several texts where one is read."""
        if attrs["query"] and attrs["mode"] in (Mode.REGEX, Mode.PREFIX):
            told = f"The mode {attrs['mode']} reads q alone."
            problems = [{"path": "$.query", "message": told}]
            raise InvalidInput(told, "Leave out query, or the mode.", problems=problems)
        return attrs


class SimilarQuerySerializer(serializers.Serializer[Any]):
    """How many tools that are like one are wanted."""

    limit = serializers.IntegerField(min_value=1, max_value=50, default=6)


class AlikeSerializer(serializers.Serializer[Alike]):
    """One tool that is like another."""

    tool = ToolSerializer()
    score = serializers.FloatField()
    same_package = serializers.BooleanField()


class SimilarAnswerSerializer(serializers.Serializer[Any]):
    """The tools that are like one, the nearest first."""

    results = AlikeSerializer(many=True)


class DuplicateSerializer(serializers.Serializer[Duplicate]):
    """A tool that is the same as one that was found."""

    id = serializers.UUIDField(source="tool_id")
    name = serializers.CharField(source="wire_name")


class FoundSerializer(serializers.Serializer[Hit]):
    """One tool that was found, with why; `parts` says how the score came about.

    `duplicates` are copies of it that you may use as well: the same from another package.
    """

    tool = ToolSerializer()
    score = serializers.FloatField()
    why = serializers.CharField()
    duplicates = DuplicateSerializer(many=True)
    parts = PartsSerializer(required=False)


class FilteredSerializer(serializers.Serializer[Any]):
    """One tool that fits and was left out, and why."""

    tool = serializers.UUIDField()
    name = serializers.CharField()
    score = serializers.FloatField()
    reason = serializers.CharField()


class SearchAnswerSerializer(serializers.Serializer[Any]):
    """What a search found, best first."""

    query = serializers.CharField()
    results = FoundSerializer(many=True)
    filtered = FilteredSerializer(many=True, required=False)
    total = serializers.IntegerField()
    took_ms = serializers.FloatField()
    mode = serializers.ChoiceField(choices=[mode.value for mode in Mode])
    dense = serializers.ChoiceField(
        choices=meaning.STATES, help_text="Whether likeness in meaning was used, or why not."
    )


class ToolWriteSerializer(Body):
    """A tool as a person makes it; `type` says how the definition is read."""

    name = serializers.CharField(max_length=120)
    description = serializers.CharField(required=False, allow_blank=True)
    type = serializers.CharField(required=False, help_text="sequence (where none is told) or api")
    visibility = serializers.ChoiceField(choices=Visibility.choices, required=False)
    team = serializers.CharField(required=False, allow_null=True)
    definition = serializers.DictField()
    inputSchema = serializers.DictField()
    requiredScopes = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_SCOPE), required=False
    )
    reason = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="Why it is changed; kept in the history.",
    )


class RestoreSerializer(Body):
    """Why a tool goes back to an earlier version."""

    reason = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=LONGEST_RESTORE_REASON
    )
