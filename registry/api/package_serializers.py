"""The shapes of packages and of what imports them."""

from rest_framework import serializers

from config.lib.api_bodies import ENV_NAME, Body
from registry.models import (
    CheckSchedule,
    ImportJob,
    Package,
)
from registry.models.package import Ecosystem


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


class PackageImportSerializer(Body):
    """A request to import a package; without a version the newest.

    `settings` of a Python package or module: `{module, class_name, tool_config, raw_string_args,
    env}`; without them those that it has already. Of an OpenAPI document: `{url | document,
    selection: [operationId, "GET /path", "tag:name"] | "all", server}`.
    """

    ecosystem = serializers.ChoiceField(choices=Ecosystem.choices, default=Ecosystem.NPM.value)
    name = serializers.CharField(max_length=214)
    version = serializers.CharField(max_length=64, required=False, allow_blank=True, default="")
    settings = serializers.DictField(required=False, allow_null=True, default=None)


class DeclaredVariableSerializer(Body):
    """A variable that a package's tools may read."""

    name = serializers.RegexField(ENV_NAME)
    description = serializers.CharField(
        max_length=500, required=False, allow_blank=True, default=""
    )
    required = serializers.BooleanField(default=True)  # type: ignore[assignment]  # the wire's name


class PackagePatchSerializer(Body):
    """What is decided of a package: the variables that it may read, added to those it declares."""

    always = ("env",)
    env = DeclaredVariableSerializer(many=True, allow_empty=False)


class PackageRepairSerializer(Body):
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
