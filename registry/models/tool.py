"""What a model can call."""

import uuid
from decimal import Decimal

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db import models
from django.db.models.functions import Collate

from registry.models.audit_triggers import audited
from registry.models.health import FINE, ExecutionHealth, Fares, Health, HealthState, in_state
from registry.models.package import Package, ReviewStatus
from registry.models.stoppable import Stoppable, stop_constraints
from registry.models.triggers import (
    SEARCH_XID_HELP,
    SEARCHED_OF_TOOL,
    keeps_health_history,
    notify_stop,
    queues_vector,
    stamps_search_change,
)

__all__ = [
    "CALLED_TOOLS",
    "DEFINED",
    "ExecutionHealth",
    "Health",
    "HealthState",
    "Tool",
    "ToolKind",
    "Visibility",
]


NAMES = SearchVector("wire_name", "title", config="simple")
"""What a tool is called, as words that can be looked up by how they begin."""

LETTERS = Collate("wire_name", "C")
"""Wire names in the order of their letters' codes, as programs sort them, whatever the database's
own order is. It is worded the same in the index and in what asks."""

CALLED_TOOLS = models.Func(
    models.F("definition"),
    models.Value("$.steps[*].toolToRunId"),
    function="jsonb_path_query_array",
    output_field=models.JSONField(),
)
"""The ids of the tools that the steps of a sequence name, as a JSON list of texts; an index has
them. It is worded the same in the index and in what asks."""


class ToolKind(models.TextChoices):
    BUILTIN = "builtin", "Built in"
    NPM = "npm", "npm package"
    PYTHON = "python", "Python package"
    API = "api", "HTTP API"
    MCP = "mcp", "MCP server"
    CODE = "code", "Code"
    SEQUENCE = "sequence", "Sequence"
    AGENT = "agent", "Agent"


DEFINED = (ToolKind.SEQUENCE, ToolKind.API, ToolKind.AGENT)
"""Kinds that are made of a definition; the others are code of a package."""


class Visibility(models.TextChoices):
    PRIVATE = "private", "Only me"
    TEAM = "team", "My team"
    PUBLIC = "public", "Everyone"


GOVERNED = (
    *("package", "kind", "export_name", "wire_name", "title", "description", "category"),
    *("input_schema", "output_schema", "ai_agent", "definition"),
    *("required_scopes", "raw_string_args", "timeout_seconds", "version", "owner", "team"),
    *("visibility", "review_status", "unreviewed_versions", "blocked_versions"),
    *("deprecated_on", "successor", "deprecation_note"),
    *("stopped_at", "stopped_by", "stopped_reason"),
    *("calls_per_minute", "cost_per_call", "deleted_at"),
    *("scopes_added", "scopes_dropped", "timeout_governed"),
)
"""The fields whose change is audited. Health, quality and times change with every call."""


MERIT = models.Case(
    models.When(~in_state(Health.BROKEN), then=models.F("quality")),
    default=models.F("quality") - 1,
)
"""What the catalogue puts the best tools first by: of a broken one it lies below every score of
what works. It is worded the same in the index and in what asks."""


_DOWN_ANEW = (
    "NEW.execution_health = 'upstream_down'"
    " AND NEW.last_health_check_at IS DISTINCT FROM OLD.last_health_check_at"
)
"""SQL: the service behind a tool did not answer once more, so that it rests once more."""


class Tool(Fares, Stoppable):
    """A tool's live row: what it is now, who may see it and how it fares.

    What it *was* stands in its immutable `ToolVersion` rows. A tool that is deleted keeps its row
    (`deleted_at`), because runs and invocations point at it; its wire name becomes free.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    package = models.ForeignKey(
        Package, null=True, blank=True, on_delete=models.PROTECT, related_name="tools"
    )
    kind = models.CharField(max_length=16, choices=ToolKind)
    export_name = models.CharField(max_length=128, blank=True)
    wire_name = models.CharField(
        max_length=64, help_text="The name that models call it by: letters, digits, _ and -."
    )
    title = models.CharField(max_length=120)
    description = models.TextField()
    category = models.CharField(max_length=64, blank=True)
    input_schema = models.JSONField(default=dict)
    output_schema = models.JSONField(null=True, blank=True)
    ai_agent = models.JSONField(
        default=dict, blank=True, help_text="Guidance: {useCase, limitations, examples}."
    )
    definition = models.JSONField(
        null=True, blank=True, help_text="A sequence's steps, or an HTTP API's request."
    )
    required_scopes = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    raw_string_args = ArrayField(
        models.CharField(max_length=100),
        default=list,
        blank=True,
        help_text="Arguments whose text reaches the tool as it is, with no embed in it resolved.",
    )
    timeout_seconds = models.PositiveSmallIntegerField(default=30)

    version = models.PositiveIntegerField(default=0, help_text="Number of the current version.")
    quality = models.DecimalField(max_digits=3, decimal_places=2, default=Decimal("0.00"))
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    team = models.ForeignKey(
        Group, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    visibility = models.CharField(max_length=16, choices=Visibility, default=Visibility.PRIVATE)
    review_status = models.CharField(
        max_length=16,
        choices=ReviewStatus,
        default=ReviewStatus.CANDIDATE,
        help_text="A tool of a package also needs the package's approval.",
    )
    unreviewed_versions = ArrayField(
        models.PositiveIntegerField(),
        default=list,
        blank=True,
        help_text="Versions that were never approved: nobody but their makers may call them.",
    )
    blocked_versions = ArrayField(
        models.PositiveIntegerField(),
        default=list,
        blank=True,
        help_text="Versions that review has refused: nobody may call them.",
    )
    deprecated_on = models.DateField(
        null=True, blank=True, help_text="From this day on it is found and injected no more."
    )
    successor = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="predecessors",
        help_text="The tool to use in its place.",
    )
    deprecation_note = models.CharField(max_length=500, blank=True)
    calls_per_minute = models.PositiveIntegerField(
        null=True, blank=True, help_text="For each caller; empty: the site's default."
    )
    scopes_added = ArrayField(
        models.CharField(max_length=100),
        default=list,
        blank=True,
        editable=False,
        help_text="Required by a governor beside those that its package declares.",
    )
    scopes_dropped = ArrayField(
        models.CharField(max_length=100),
        default=list,
        blank=True,
        editable=False,
        help_text="Declared by its package, and not required because a governor said so.",
    )
    timeout_governed = models.BooleanField(
        default=False, editable=False, help_text="A governor has set the time limit."
    )
    cost_per_call = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True, help_text="US dollars."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    search_xid = models.BigIntegerField(default=0, editable=False, help_text=SEARCH_XID_HELP)

    needs: tuple[str, ...] = ()
    """Variables that the reader has not set; told by `registry.needs`, never stored."""

    GOVERNED_APART = Stoppable.GOVERNED_APART | {"calls_per_minute", "cost_per_call"}
    live_version: int = 0
    """Of a copy that says what another version was, the live one (`registry.review.drafts`)."""

    class Meta:
        permissions = [("trusted_registrar", "Can register tools that are live without review")]
        constraints = [
            *Fares.CONSTRAINTS,
            *stop_constraints("tool"),
            models.UniqueConstraint(fields=["package", "export_name"], name="tool_export_unique"),
            models.UniqueConstraint(
                fields=["wire_name"],
                name="tool_wire_name_unique",
                condition=models.Q(deleted_at=None),
            ),
            models.CheckConstraint(
                condition=models.Q(wire_name__regex=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$"),
                name="tool_wire_name_form",
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=ToolKind.values), name="tool_kind_known"
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=(ToolKind.SEQUENCE, ToolKind.AGENT), package=None)
                | models.Q(kind=ToolKind.API)
                | (~models.Q(kind__in=DEFINED) & models.Q(package__isnull=False)),
                name="tool_package_by_kind",
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=DEFINED, definition__isnull=False)
                | (~models.Q(kind__in=DEFINED) & models.Q(definition=None)),
                name="tool_definition_by_kind",
            ),
            models.CheckConstraint(
                condition=~models.Q(visibility=Visibility.TEAM) | models.Q(team__isnull=False),
                name="tool_team_named",
            ),
            models.CheckConstraint(
                condition=models.Q(visibility=Visibility.PUBLIC) | models.Q(owner__isnull=False),
                name="tool_owner_named",
            ),
            models.CheckConstraint(
                condition=models.Q(review_status__in=ReviewStatus.values), name="tool_review_known"
            ),
            models.CheckConstraint(
                condition=models.Q(visibility__in=Visibility.values), name="tool_visibility_known"
            ),
            models.CheckConstraint(
                condition=models.Q(quality__gte=0, quality__lte=1), name="tool_quality_range"
            ),
            models.CheckConstraint(
                condition=models.Q(timeout_seconds__gte=1, timeout_seconds__lte=300),
                name="tool_timeout_range",
            ),
            models.CheckConstraint(
                condition=models.Q(successor=None) | ~models.Q(successor=models.F("pk")),
                name="tool_not_its_own_successor",
            ),
            models.CheckConstraint(
                condition=models.Q(calls_per_minute=None) | models.Q(calls_per_minute__gte=1),
                name="tool_calls_per_minute_positive",
            ),
            models.CheckConstraint(
                condition=models.Q(cost_per_call=None) | models.Q(cost_per_call__gte=0),
                name="tool_cost_not_negative",
            ),
        ]
        indexes = [
            models.Index(models.F("quality").desc(), name="tool_quality"),
            models.Index(fields=["execution_health"], name="tool_execution_health"),
            models.Index(fields=["kind", "wire_name"], name="tool_kind_wire_name"),
            models.Index(fields=["wire_name", "id"], name="tool_wire_name"),
            models.Index(LETTERS, name="tool_letters", condition=models.Q(deleted_at__isnull=True)),
            models.Index(
                fields=["review_status", "wire_name"],
                name="tool_review_wire_name",
                condition=~models.Q(review_status=ReviewStatus.APPROVED),
            ),
            models.Index(
                fields=["visibility", "title", "id"],
                name="tool_visibility_title",
                condition=~models.Q(visibility=Visibility.PUBLIC),
            ),
            models.Index(MERIT.desc(), "title", "id", name="tool_merit"),
            models.Index(fields=["category", "title"], name="tool_category_title"),
            models.Index(fields=["title", "id"], name="tool_title"),
            models.Index(fields=["kind", "title", "id"], name="tool_kind_title"),
            models.Index(fields=["-created_at", "id"], name="tool_created"),
            GinIndex(NAMES, name="tool_names"),
            models.Index(fields=["search_xid"], name="tool_search_xid"),
            models.Index(
                fields=["import_health"],
                name="tool_import_health",
                condition=~models.Q(import_health=Health.HEALTHY),
            ),
            models.Index(fields=["id"], name="tool_unwell", condition=~FINE),
            models.Index(
                fields=["wire_name", "id"],
                name="tool_gone",
                condition=models.Q(deleted_at__isnull=False),
            ),
            GinIndex(
                CALLED_TOOLS,
                name="tool_called_tools",
                fastupdate=False,  # else every key asked for reads through what is pending
                condition=models.Q(kind=ToolKind.SEQUENCE, deleted_at=None),
            ),
            models.Index(
                fields=["wire_name"],
                name="tool_broken",
                condition=models.Q(import_health=Health.BROKEN)
                | models.Q(execution_health=ExecutionHealth.BROKEN),
            ),
            models.Index(
                fields=["-stopped_at"],
                name="tool_stopped",
                condition=models.Q(stopped_at__isnull=False),
            ),
            models.Index(
                fields=["deprecated_on"],
                name="tool_deprecated",
                condition=models.Q(deprecated_on__isnull=False),
            ),
        ]
        triggers = [
            stamps_search_change("tool_changed", SEARCHED_OF_TOOL, also=_DOWN_ANEW),
            notify_stop("tool_stopped"),
            keeps_health_history(),
            queues_vector(),
            *audited("tool", *GOVERNED, label="item.wire_name"),
        ]

    def __str__(self) -> str:
        return self.wire_name
