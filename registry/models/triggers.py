"""Triggers that several models share."""

import pgtrigger

CHANGE_CHANNEL = "outfitter_registry"
"""NOTIFY channel on which every change of what is searchable is told; the payload is a tool id,
or empty when more than one tool may have changed."""

STOP_CHANNEL = "outfitter_stops"
"""NOTIFY channel on which it is told that a tool or package was stopped; the payload is its id."""

WEIGHTS_CHANNEL = "outfitter_weights"
"""NOTIFY channel on which it is told that governors saved search weights; the payload is their
version."""

CALL_COLUMNS = (
    *("created_at", "tool_id", "agent_id", "user_id", "caller", "outcome", "phase"),
    *("error_code", "decision", "duration_ms", "cost"),
)
"""What is copied of a call to `UsagePending`; `undeclared` comes on top."""

UNDECLARED = "coalesce({row}.error #>> '{{extra,undeclared}}', 'false') <> 'false'"
"""SQL: a variable was missing that the tool's package never declared."""

STATE = """(CASE
    WHEN {row}.import_health = 'broken' THEN 'import_broken'
    WHEN {row}.execution_health = 'broken' THEN 'execution_broken'
    WHEN {row}.execution_health IN ('needs_sign_in', 'needs_key', 'upstream_down')
        THEN {row}.execution_health
    WHEN 'healthy' IN ({row}.import_health, {row}.execution_health) THEN 'healthy'
    ELSE 'unknown' END)"""
"""SQL counterpart of `state_of`; a test holds the two together."""


def append_only(name: str) -> pgtrigger.Protect:
    """Refuse every update and delete of a row."""
    return pgtrigger.Protect(name=name, operation=pgtrigger.Update | pgtrigger.Delete)


def notify_change(name: str, payload: str) -> pgtrigger.Trigger:
    """Tell every process that `payload` (an SQL expression over NEW) changed."""
    return pgtrigger.Trigger(
        name=name,
        when=pgtrigger.After,
        operation=pgtrigger.Insert | pgtrigger.Update,
        func=f"PERFORM pg_notify('{CHANGE_CHANNEL}', {payload}); RETURN NULL;",
    )


def notify_stop(name: str) -> pgtrigger.Trigger:
    """Tell every process that a row was stopped, so that it ends the calls that run."""
    return pgtrigger.Trigger(
        name=name,
        when=pgtrigger.After,
        operation=pgtrigger.Update,
        condition=pgtrigger.Q(old__stopped_at=None, new__stopped_at__isnull=False),
        func=f"PERFORM pg_notify('{STOP_CHANNEL}', NEW.id::text); RETURN NULL;",
    )


def keeps_pending() -> pgtrigger.Trigger:
    """Copy new calls to `UsagePending`, those of one statement at once; not health checks."""
    columns = ", ".join(CALL_COLUMNS)
    return pgtrigger.Trigger(
        name="invocation_usage",
        level=pgtrigger.Statement,
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        referencing=pgtrigger.Referencing(new="added"),  # type: ignore[no-untyped-call]
        func=f"""
            INSERT INTO registry_usagepending ({columns}, undeclared)
            SELECT {columns}, {UNDECLARED.format(row="added")}
            FROM added WHERE caller <> 'health';
            RETURN NULL;
        """,  # noqa: S608 - own names only
    )


def keeps_health_history() -> pgtrigger.Trigger:
    """Note each change of a tool's state, whoever makes it, and have the tool scored again."""
    old, new = STATE.format(row="OLD"), STATE.format(row="NEW")
    changed = pgtrigger.UpdateOf("import_health", "execution_health")  # type: ignore[no-untyped-call]
    return pgtrigger.Trigger(
        name="tool_health_history",
        when=pgtrigger.After,
        operation=pgtrigger.Insert | changed,
        func=f"""
            IF TG_OP = 'UPDATE' THEN
                IF {old} = {new} THEN RETURN NULL; END IF;
            END IF;
            INSERT INTO registry_healthchange (tool_id, at, state, error_code)
            VALUES (NEW.id, clock_timestamp(), {new},
                    left(coalesce(NEW.health_error ->> 'code', ''), 64));
            INSERT INTO registry_qualitydue (tool_id, due_at) VALUES (NEW.id, now())
            ON CONFLICT (tool_id) DO UPDATE
            SET due_at = least(registry_qualitydue.due_at, excluded.due_at);
            RETURN NULL;
        """,  # noqa: S608 - own names only
    )
