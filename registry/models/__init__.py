from registry.models import people as people
from registry.models.api_document import ApiDocument
from registry.models.audit_event import AuditEvent
from registry.models.check_schedule import CheckSchedule
from registry.models.event_subscription import EventDelivery, EventSubscription, PendingEvent
from registry.models.health_change import HealthChange, QualityDue
from registry.models.invocation import Invocation
from registry.models.job import ImportJob
from registry.models.package import Package
from registry.models.proposal import Proposal
from registry.models.retention_policy import RetentionPolicy
from registry.models.search_weights import SearchWeights
from registry.models.sync import SyncEntry, SyncFeed, SyncRun
from registry.models.tool import Tool
from registry.models.tool_vector import ToolVector
from registry.models.tool_version import ToolVersion
from registry.models.upload import Upload
from registry.models.usage import (
    ErrorUsage,
    PersonUsageDay,
    SiteUsage,
    ToolUsage,
    ToolUsageDay,
    UsagePending,
)

__all__ = [
    "ApiDocument",
    "AuditEvent",
    "CheckSchedule",
    "ErrorUsage",
    "EventDelivery",
    "EventSubscription",
    "HealthChange",
    "ImportJob",
    "Invocation",
    "Package",
    "PendingEvent",
    "PersonUsageDay",
    "Proposal",
    "QualityDue",
    "RetentionPolicy",
    "SearchWeights",
    "SiteUsage",
    "SyncEntry",
    "SyncFeed",
    "SyncRun",
    "Tool",
    "ToolUsage",
    "ToolUsageDay",
    "ToolVector",
    "ToolVersion",
    "Upload",
    "UsagePending",
]
