"""Find audit events: the same filters for the page, the export and the REST API."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from config.lib.errors import NotAllowed, NotFound
from config.lib.text_filters import TextFilters
from registry.audit.paging import between
from registry.models import AuditEvent

MODELS: Mapping[str, str] = {
    "registry.package": "Package",
    "registry.tool": "Tool",
    "registry.toolversion": "Tool version",
    "registry.proposal": "Proposal",
    "registry.retentionpolicy": "Retention policy",
    "registry.searchweights": "Search weights",
    "registry.syncfeed": "Sync feed",
    "registry.upload": "Upload",
    "registry.eventsubscription": "Event subscription",
    "registry.invocation": "Calls",
    "registry.importjob": "Imports",
    "registry.auditevent": "Audit events",
    "agents.agent": "Agent",
    "agents.agenttool": "Tool of an agent",
    "agents.approvalrule": "Approval rule",
    "agents.experiment": "Experiment",
    "agents.arm": "Toolset of an experiment",
    "agents.armtool": "Tool of a toolset",
    "agents.credential": "Credential",
    "agents.apitoken": "API token",
    "agents.oauthclient": "OAuth client",
    "sequences.schedule": "Schedule",
    "sequences.webhook": "Webhook",
    "auth.user": "Person",
    "auth.group": "Group",
    "auth.user_groups": "Member of a group",
    "auth.user_user_permissions": "Permission of a person",
    "auth.group_permissions": "Permission of a group",
}
"""What events are about: `app.model` → the words for it."""


@dataclass(frozen=True, kw_only=True)
class EventFilters(TextFilters):
    """What was asked for; an empty text does not narrow.

    `actor` is a username, `object` the id of what has the history, `q` the start of a name or a
    word of the reason; `since` and `until` are days or times.
    """

    q: str = ""
    actor: str = ""
    model: str = ""
    object: str = ""
    operation: str = ""
    source: str = ""
    request: str = ""
    since: str = ""
    until: str = ""


def require_may_read_audit(user: User) -> None:
    """Raise NotAllowed for everybody who may not read the audit."""
    if not user.has_perm("registry.view_auditevent"):
        raise NotAllowed(
            "Only governors and auditors may read the audit.", "Ask an administrator for the role."
        )


def events_listed(user: User, filters: EventFilters) -> QuerySet[AuditEvent]:
    """Return the events that pass the filters; raise NotAllowed or InvalidInput."""
    require_may_read_audit(user)
    where = between("at", filters.since, filters.until)
    if filters.actor:
        known = User.objects.filter(username=filters.actor).values_list("pk", flat=True)
        where &= Q(actor_id__in=list(known)) if known else Q(actor_name=filters.actor)
    exact = {
        "model": filters.model,
        "subject_id": filters.object,
        "operation": filters.operation,
        "source": filters.source,
        "request_id": filters.request,
    }
    where &= Q(**{name: text for name, text in exact.items() if text})
    if filters.q:
        where &= Q(object_label__icontains=filters.q) | Q(reason__icontains=filters.q)
    return AuditEvent.objects.filter(where)


def event_visible_to(user: User, event_id: int) -> AuditEvent:
    """Return one event; raise NotAllowed or NotFound."""
    require_may_read_audit(user)
    event = AuditEvent.objects.filter(pk=event_id).first()
    if event is None:
        raise NotFound("There is no such event, or its time is over.", "Look in the audit.")
    return event
