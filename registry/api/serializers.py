"""Shapes of the registry on the wire."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.lib.types import JsonObject
from registry.audit.calls import for_reader, masked_by_name
from registry.governing import DEAREST_CALL, LONGEST_CALL, MOST_CALLS
from registry.importing.variables import MOST_VARIABLES
from registry.mcp.settings import VARIABLE
from registry.models import (
    AuditEvent,
    CheckSchedule,
    ImportJob,
    Invocation,
    Package,
    Tool,
    ToolVersion,
)
from registry.models.health import HealthState
from registry.models.package import Ecosystem, Tier
from registry.models.stoppable import LONGEST_REASON
from registry.models.tool import Visibility
from registry.restoring import LONGEST_RESTORE_REASON
from registry.scopes import LONGEST_SCOPE
from registry.search.service import Hit
from registry.selectors import invocations_inside


class ProblemSerializer(serializers.Serializer[Any]):
    """One thing that is wrong, and where."""

    path = serializers.CharField()
    message = serializers.CharField()


class PackageSerializer(serializers.ModelSerializer[Package]):
    """A package as it is told."""

    reviewStatus = serializers.CharField(source="review_status", read_only=True)
    addedBy = serializers.CharField(source="added_by.username", default=None, read_only=True)
    env = serializers.ListField(child=serializers.DictField(), read_only=True)
    findings = serializers.ListField(child=serializers.DictField(), read_only=True)
    stoppedAt = serializers.DateTimeField(source="stopped_at", read_only=True, allow_null=True)
    stoppedReason = serializers.CharField(source="stopped_reason", read_only=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)
    updatedAt = serializers.DateTimeField(source="updated_at", read_only=True)

    class Meta:
        model = Package
        fields = (
            "id",
            "ecosystem",
            "name",
            "version",
            "integrity",
            "description",
            "category",
            "env",
            "frameworks",
            "tier",
            "downloads",
            "findings",
            "reviewStatus",
            "stoppedAt",
            "stoppedReason",
            "addedBy",
            "createdAt",
            "updatedAt",
        )


class PackageDetailSerializer(PackageSerializer):
    """A package with its manifest and its settings."""

    manifest = serializers.DictField(read_only=True)
    settings = serializers.DictField(read_only=True)

    class Meta:
        model = Package
        fields = (*PackageSerializer.Meta.fields, "manifest", "settings")


class PackageImportSerializer(serializers.Serializer[Any]):
    """A request to import a package; without a version the newest.

    `settings` of a Python package or module: `{module, class_name, tool_config, raw_string_args,
    env}`; without them those that it has already. Of an OpenAPI document: `{url | document,
    selection: [operationId, "GET /path", "tag:name"] | "all", server}`.
    """

    ecosystem = serializers.ChoiceField(choices=Ecosystem.choices, default=Ecosystem.NPM.value)
    name = serializers.CharField(max_length=214)
    version = serializers.CharField(max_length=64, required=False, allow_blank=True, default="")
    settings = serializers.DictField(required=False, allow_null=True, default=None)


class DeclaredVariableSerializer(serializers.Serializer[Any]):
    """A variable that a package's tools may read."""

    name = serializers.CharField(max_length=100)
    description = serializers.CharField(
        max_length=500, required=False, allow_blank=True, default=""
    )
    required = serializers.BooleanField(default=True)  # type: ignore[assignment]  # the wire's name


class PackagePatchSerializer(serializers.Serializer[Any]):
    """What is decided of a package: the variables that it may read, added to those it declares."""

    env = DeclaredVariableSerializer(many=True, allow_empty=False)


class ManifestSerializer(serializers.Serializer[Any]):
    """A package.json; or what stands under its `tpmjs`, in place of all this."""

    name = serializers.CharField(required=False)
    tpmjs = serializers.DictField()


class JudgedToolSerializer(serializers.Serializer[Any]):
    """A tool that would come of a manifest; `healthCheck` has the arguments it is called with."""

    name = serializers.CharField()
    exportName = serializers.CharField()
    description = serializers.CharField()
    category = serializers.CharField()
    inputSchema = serializers.DictField(allow_null=True)
    outputSchema = serializers.DictField(allow_null=True)
    aiAgent = serializers.DictField()
    healthCheck = serializers.DictField(allow_null=True)


class JudgedProblemSerializer(ProblemSerializer):
    """What is wrong with a manifest, and at which line of what was sent."""

    severity = serializers.ChoiceField(choices=["error", "warning", "advice"])
    line = serializers.IntegerField()


class JudgementSerializer(serializers.Serializer[Any]):
    """What a manifest comes to; it is valid when no problem is an error."""

    valid = serializers.BooleanField()
    tier = serializers.ChoiceField(choices=Tier.choices, allow_null=True)
    tierBecause = serializers.ListField(child=serializers.CharField())
    generation = serializers.ChoiceField(choices=["current", "earlier", "legacy"], allow_null=True)
    package = serializers.CharField(allow_null=True)
    category = serializers.CharField()
    frameworks = serializers.ListField(child=serializers.CharField())
    env = serializers.ListField(child=serializers.DictField())
    hosts = serializers.ListField(child=serializers.CharField())
    tools = JudgedToolSerializer(many=True)
    problems = JudgedProblemSerializer(many=True)
    advice = JudgedProblemSerializer(many=True)


class PackageRepairSerializer(serializers.Serializer[Any]):
    """Which export a declared tool is."""

    declared = serializers.CharField(max_length=128)
    export = serializers.CharField(max_length=128)


class CheckSerializer(serializers.ModelSerializer[CheckSchedule]):
    """When a package's tools were last looked at, and when they are next; null: at once."""

    lastAt = serializers.DateTimeField(source="last_at", allow_null=True, read_only=True)
    nextAt = serializers.DateTimeField(source="next_at", allow_null=True, read_only=True)
    error = serializers.DictField(allow_null=True, read_only=True)

    class Meta:
        model = CheckSchedule
        fields = ("lastAt", "nextAt", "error")


class JobSerializer(serializers.ModelSerializer[ImportJob]):
    """An import and how far it is."""

    package = serializers.UUIDField(source="package_id", allow_null=True, read_only=True)
    report = serializers.ListField(child=serializers.DictField(), read_only=True)
    error = serializers.DictField(allow_null=True, read_only=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)
    startedAt = serializers.DateTimeField(source="started_at", allow_null=True, read_only=True)
    finishedAt = serializers.DateTimeField(source="finished_at", allow_null=True, read_only=True)

    class Meta:
        model = ImportJob
        fields = (
            "id",
            "ecosystem",
            "name",
            "version",
            "status",
            "stage",
            "report",
            "error",
            "package",
            "createdAt",
            "startedAt",
            "finishedAt",
        )


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
    has; a greater `version` of your own tool waits for review.
    """

    liveVersion = serializers.SerializerMethodField(method_name="get_live_version")

    definition = serializers.DictField(allow_null=True, read_only=True)
    missingEnv = serializers.ListField(
        child=serializers.CharField(), source="needs", read_only=True
    )

    class Meta:
        model = Tool
        fields = (*ToolSerializer.Meta.fields, "definition", "missingEnv", "liveVersion")

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


class SearchQuerySerializer(serializers.Serializer[Any]):
    """What to search for."""

    q = serializers.CharField(max_length=20_000, allow_blank=True, default="")
    messages = serializers.CharField(
        required=False, help_text="Earlier messages: a JSON list of texts."
    )
    limit = serializers.IntegerField(min_value=1, max_value=50, default=5)
    explain = serializers.BooleanField(default=False)
    agent = serializers.CharField(
        max_length=60,
        required=False,
        allow_blank=True,
        default="",
        help_text="Find only what this agent's scopes allow.",
    )


class FoundSerializer(serializers.Serializer[Hit]):
    """One tool that was found; `parts` says how the score came about."""

    tool = ToolSerializer()
    score = serializers.FloatField()
    parts = serializers.DictField(child=serializers.FloatField(), required=False)


class SearchAnswerSerializer(serializers.Serializer[Any]):
    """What a search found, best first."""

    query = serializers.CharField()
    results = FoundSerializer(many=True)
    total = serializers.IntegerField()
    took_ms = serializers.FloatField()


class ToolRunSerializer(serializers.Serializer[Any]):
    """A request to call a tool. A variable in `env` is used for this call and not kept."""

    arguments = serializers.DictField(default=dict)
    env = serializers.DictField(child=serializers.CharField(max_length=10_000), default=dict)
    agent = serializers.CharField(
        max_length=60, required=False, allow_blank=True, default="", help_text="Call as this agent."
    )
    version = serializers.IntegerField(min_value=1, required=False, allow_null=True, default=None)

    def validate_env(self, env: dict[str, str]) -> dict[str, str]:
        """Refuse more variables than a package may declare: each is looked for in the answer."""
        if len(env) > MOST_VARIABLES:
            raise serializers.ValidationError(f"At most {MOST_VARIABLES} variables can be given.")
        for name in env:
            serializers.RegexField(VARIABLE).run_validation(name)
        return env


class InvocationSerializer(serializers.ModelSerializer[Invocation]):
    """One call of a tool, as it was recorded."""

    toolId = serializers.UUIDField(source="tool_id", read_only=True)
    tool = serializers.CharField(source="tool.wire_name", read_only=True)
    toolVersion = serializers.IntegerField(source="tool_version", read_only=True)
    parentId = serializers.UUIDField(source="parent_id", read_only=True, allow_null=True)
    agentId = serializers.UUIDField(source="agent_id", read_only=True, allow_null=True)
    user = serializers.CharField(source="user.username", default=None, read_only=True)
    status = serializers.CharField(source="outcome", read_only=True)
    errorCode = serializers.CharField(source="error_code", read_only=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = Invocation
        fields: tuple[str, ...] = (
            "id",
            "toolId",
            "tool",
            "toolVersion",
            "caller",
            "agentId",
            "user",
            "parentId",
            "status",
            "decision",
            "phase",
            "errorCode",
            "arguments",
            "output",
            "error",
            "duration_ms",
            "cost",
            "createdAt",
        )


class InvocationDetailSerializer(InvocationSerializer):
    """One call and, of a program, the calls that it made."""

    children = serializers.SerializerMethodField()

    class Meta(InvocationSerializer.Meta):
        fields = (*InvocationSerializer.Meta.fields, "children")

    @extend_schema_field(InvocationSerializer(many=True))
    def get_children(self, invocation: Invocation) -> Any:
        """Return the inner calls, in the order in which they ended."""
        inside = invocations_inside(invocation)
        if reader := self.context.get("reader"):
            inside = [for_reader(reader, call) for call in inside]
        return InvocationSerializer(inside, many=True).data


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


class ToolWriteSerializer(serializers.Serializer[Any]):
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


class ReasonSerializer(serializers.Serializer[Any]):
    """Why it is done; everybody who meets a stop reads it."""

    reason = serializers.CharField(max_length=LONGEST_REASON)


class GovernanceSerializer(ReasonSerializer):
    """What is to change; what is left out stays. `callsPerMinute` null is the site's default."""

    requiredScopes = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_SCOPE),
        source="required_scopes",
        required=False,
    )
    callsPerMinute = serializers.IntegerField(
        source="calls_per_minute",
        min_value=1,
        max_value=MOST_CALLS,
        allow_null=True,
        required=False,
    )
    costPerCall = serializers.DecimalField(
        source="cost_per_call",
        max_digits=12,
        decimal_places=6,
        min_value=0,
        max_value=DEAREST_CALL,
        allow_null=True,
        required=False,
        help_text="US dollars.",
    )
    timeoutSeconds = serializers.IntegerField(
        source="timeout_seconds", min_value=1, max_value=LONGEST_CALL, required=False
    )


class RestoreSerializer(serializers.Serializer[Any]):
    """Why a tool goes back to an earlier version."""

    reason = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=LONGEST_RESTORE_REASON
    )


class LaunchedSerializer(serializers.Serializer[Any]):
    """A run that was started; `url` is its place in this API, `page` the one for people."""

    run = serializers.UUIDField()
    status = serializers.CharField()
    url = serializers.CharField()
    page = serializers.CharField()


class SavedFileSerializer(serializers.Serializer[Any]):
    """A file that the tool saved beside its answer; it is kept nowhere else."""

    name = serializers.CharField()
    media_type = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes of the file.")
    content = serializers.CharField(help_text="The file itself, in base64.")


class ToolRanSerializer(serializers.Serializer[Any]):
    """How a call ended that succeeded.

    Pictures and sounds of an MCP server stand in `output.content` as MCP has them:
    `{type: "image" | "audio", mimeType, data}`, `data` in base64.
    """

    status = serializers.CharField()
    output = serializers.JSONField()
    duration_ms = serializers.IntegerField()
    invocation = serializers.UUIDField()
    artifacts = SavedFileSerializer(many=True)
