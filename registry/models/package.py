"""Where tools come from."""

import uuid

from django.conf import settings as configuration
from django.contrib.postgres.fields import ArrayField
from django.db import models

from registry.models.audit_triggers import audited
from registry.models.stoppable import Stoppable, stop_constraints
from registry.models.triggers import (
    SEARCH_XID_HELP,
    SEARCHED_OF_PACKAGE,
    notify_stop,
    stamps_search_change,
)


class Ecosystem(models.TextChoices):
    BUILTIN = "builtin", "Built in"
    NPM = "npm", "npm"
    PYPI = "pypi", "PyPI"
    LOCAL = "local", "Local module"
    UPLOAD = "upload", "Uploaded module"
    MCP = "mcp", "MCP server"
    OPENAPI = "openapi", "OpenAPI document"


class Tier(models.TextChoices):
    MINIMAL = "minimal", "Minimal"
    RICH = "rich", "Rich"


class ReviewStatus(models.TextChoices):
    CANDIDATE = "candidate", "Candidate"
    APPROVED = "approved", "Approved"
    REJECTED = "rejected", "Rejected"
    QUARANTINED = "quarantined", "Quarantined"


GOVERNED = (
    *("ecosystem", "name", "version", "integrity", "artifact", "description", "category"),
    *("env", "settings", "allowed_hosts", "frameworks", "tier", "manifest", "findings"),
    *("review_status", "stopped_at", "stopped_by", "stopped_reason", "added_by"),
)
"""The fields whose change is audited: all but times and what registries count."""


class Package(Stoppable):
    """One package, MCP server or the built-ins, at the version that is in use."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    ecosystem = models.CharField(max_length=16, choices=Ecosystem)
    name = models.CharField(max_length=214)
    version = models.CharField(max_length=64, blank=True)
    integrity = models.CharField(
        max_length=200, blank=True, help_text="As the registry states it: `sha512-…`."
    )
    artifact = models.CharField(
        max_length=64, blank=True, help_text="Digest under which the artifact store keeps it."
    )
    description = models.TextField(blank=True)
    category = models.CharField(max_length=64, blank=True)
    env = models.JSONField(
        default=list,
        blank=True,
        help_text="Variables it declares: [{name, description, required}].",
    )
    settings = models.JSONField(
        default=dict,
        blank=True,
        help_text="How it is loaded, by ecosystem: a Python module and its tool_config, an MCP "
        "server's transport and address.",
    )
    allowed_hosts = ArrayField(
        models.CharField(max_length=260),
        default=list,
        blank=True,
        help_text="Hosts its tools may reach: “host”, “host:port” or “*.host”. Empty: no network.",
    )
    frameworks = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    tier = models.CharField(max_length=16, choices=Tier, default=Tier.MINIMAL)
    downloads = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Downloads in the last month, where the registry tells."
    )
    deprecations = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="Versions that the registry calls deprecated, with its reason, as last seen.",
    )
    manifest = models.JSONField(
        default=dict, blank=True, help_text="package.json as it was installed."
    )
    findings = models.JSONField(
        default=list,
        blank=True,
        help_text="What the import noticed: [{code, path, message}].",
    )
    review_status = models.CharField(
        max_length=16, choices=ReviewStatus, default=ReviewStatus.CANDIDATE
    )
    added_by = models.ForeignKey(
        configuration.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    search_xid = models.BigIntegerField(default=0, editable=False, help_text=SEARCH_XID_HELP)

    class Meta:
        constraints = [
            *stop_constraints("package"),
            models.UniqueConstraint(fields=["ecosystem", "name"], name="package_unique"),
            models.CheckConstraint(
                condition=models.Q(ecosystem__in=Ecosystem.values), name="package_ecosystem_known"
            ),
            models.CheckConstraint(
                condition=models.Q(review_status__in=ReviewStatus.values),
                name="package_review_known",
            ),
            models.CheckConstraint(
                condition=models.Q(tier__in=Tier.values), name="package_tier_known"
            ),
        ]
        indexes = [
            models.Index(fields=["category"], name="package_category"),
            models.Index(models.F("downloads").desc(nulls_last=True), name="package_downloads"),
            models.Index(fields=["review_status", "name"], name="package_review_name"),
            models.Index(fields=["name", "id"], name="package_name"),
            models.Index(fields=["search_xid"], name="package_search_xid"),
        ]
        triggers = [
            stamps_search_change("package_changed", SEARCHED_OF_PACKAGE),
            notify_stop("package_stopped"),
            *audited("package", *GOVERNED, label="item.ecosystem || ':' || item.name"),
        ]

    @property
    def deprecated(self) -> str:
        """Return why the registry calls the version in use deprecated; empty where it does not."""
        return str(self.deprecations.get(self.version, ""))

    def __str__(self) -> str:
        return f"{self.name}@{self.version}" if self.version else self.name
