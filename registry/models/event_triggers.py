"""The triggers that write events for programs, in the transaction of what they tell.

They are SQL like the audit's, so that no way of writing a row goes round them, and what was rolled
back is never told. Where nobody listens they write nothing. See docs/decisions/0023.
"""

import pgtrigger

from registry.models.event_types import BROKEN, EventType
from registry.models.health import HealthState

_TELL = """
    INSERT INTO registry_pendingevent (id, type, at, tool_id, facts)
    SELECT gen_random_uuid(), {type}, clock_timestamp(), {tool}, {facts}
    WHERE EXISTS (
        SELECT 1 FROM registry_eventsubscription heard
        WHERE heard.active AND {type} = ANY(heard.types) {more}
    );
"""


def _tell(*, type_: str, tool: str, facts: str, more: str = "") -> str:
    """Return the statement that writes an event; all are SQL expressions of our own."""
    return _TELL.format(type=type_, tool=tool, facts=facts, more=more)


def tells_runs() -> pgtrigger.Trigger:
    """Tell when a run has ended or waits for a person: not one inside another, nor a test."""
    facts = """jsonb_build_object(
        'run', NEW.id, 'user', NEW.user_id, 'agent', NEW.agent_id, 'status', NEW.status,
        'caller', NEW.caller,
        'created_at', NEW.created_at, 'started_at', NEW.started_at,
        'finished_at', NEW.finished_at,
        'error_code', NEW.error ->> 'code', 'error_message', NEW.error ->> 'message')"""
    change = pgtrigger.UpdateOf("status")  # type: ignore[no-untyped-call]
    return pgtrigger.Trigger(
        name="run_events",
        when=pgtrigger.After,
        operation=pgtrigger.Insert | change,
        declare=[("kind", "text")],
        func=f"""
            IF TG_OP = 'UPDATE' THEN
                IF OLD.status = NEW.status THEN RETURN NULL; END IF;
            END IF;
            IF NEW.parent_step_id IS NOT NULL OR NEW.tool_version_id IS NULL THEN
                RETURN NULL;
            END IF;
            kind := CASE NEW.status
                WHEN 'succeeded' THEN '{EventType.RUN_SUCCEEDED.value}'
                WHEN 'failed' THEN '{EventType.RUN_FAILED.value}'
                WHEN 'cancelled' THEN '{EventType.RUN_CANCELLED.value}'
                WHEN 'waiting' THEN '{EventType.RUN_WAITING.value}'
                WHEN 'attention' THEN '{EventType.RUN_WAITING.value}' END;
            IF kind IS NULL THEN RETURN NULL; END IF;
            {_tell(type_="kind", tool="NEW.tool_id", facts=facts, more="AND heard.owner_id = NEW.user_id")}
            RETURN NULL;
        """,  # noqa: E501
    )


def tells_reviews() -> pgtrigger.Trigger:
    """Tell when a proposal was opened, and when a reviewer decided on it."""
    facts = """jsonb_build_object(
        'proposal', NEW.id, 'package', NEW.package_id, 'state', NEW.state, 'cause', NEW.cause,
        'user', NEW.opened_by_id, 'opened_at', NEW.opened_at, 'decided_at', NEW.decided_at)"""
    opened = _tell(type_=f"'{EventType.REVIEW_OPENED.value}'", tool="NEW.tool_id", facts=facts)
    decided = _tell(
        type_=f"'{EventType.REVIEW_DECIDED.value}'",
        tool="NEW.tool_id",
        facts=facts,
        more="AND heard.owner_id = NEW.opened_by_id",
    )
    change = pgtrigger.UpdateOf("state")  # type: ignore[no-untyped-call]
    return pgtrigger.Trigger(
        name="proposal_events",
        when=pgtrigger.After,
        operation=pgtrigger.Insert | change,
        func=f"""
            IF TG_OP = 'INSERT' THEN
                IF NEW.state = 'open' THEN {opened} END IF;
            ELSIF OLD.state = 'open' AND NEW.state IN ('approved', 'rejected', 'quarantined') THEN
                {decided}
            END IF;
            RETURN NULL;
        """,
    )


def tells_health() -> pgtrigger.Trigger:
    """Tell when a tool breaks, and when one that was broken is healthy again.

    States in between, such as that it lacks a key, are passed over.
    """
    broken = ", ".join(f"'{state.value}'" for state in BROKEN)
    healthy = f"'{HealthState.HEALTHY.value}'"
    facts = """jsonb_build_object('state', NEW.state, 'error_code', NEW.error_code, 'at', NEW.at)"""
    fell = _tell(type_=f"'{EventType.TOOL_BROKEN.value}'", tool="NEW.tool_id", facts=facts)
    rose = _tell(type_=f"'{EventType.TOOL_HEALTHY.value}'", tool="NEW.tool_id", facts=facts)
    return pgtrigger.Trigger(
        name="health_change_events",
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        declare=[("before", "text")],
        func=f"""
            IF NEW.state NOT IN ({broken}, {healthy}) THEN RETURN NULL; END IF;
            SELECT state INTO before FROM registry_healthchange earlier
            WHERE earlier.tool_id = NEW.tool_id AND earlier.id <> NEW.id
                AND earlier.state IN ({broken}, {healthy})
            ORDER BY earlier.at DESC, earlier.id DESC LIMIT 1;
            IF NEW.state = {healthy} THEN
                IF before IN ({broken}) THEN {rose} END IF;
            ELSIF before IS NULL OR before = {healthy} THEN
                {fell}
            END IF;
            RETURN NULL;
        """,  # noqa: S608 - own names only
    )
