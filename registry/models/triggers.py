"""Triggers that several models share."""

from collections.abc import Sequence

import pgtrigger

CHANGE_CHANNEL = "outfitter_registry"
"""NOTIFY channel that rings when what is searched has changed. The payload is empty: what changed
is read by `search_xid`, and one transaction rings once however many rows it writes."""

SEARCHED_OF_TOOL = (
    *("package_id", "kind", "export_name", "wire_name", "title", "description", "category"),
    *("input_schema", "output_schema", "ai_agent", "required_scopes", "quality"),
    *("owner_id", "team_id", "visibility", "review_status", "deprecated_on"),
    *("import_health", "execution_health", "stopped_at", "deleted_at"),
)
"""Columns of a tool that the search reads; times and counts that every call moves are not."""

SEARCHED_OF_PACKAGE = (
    *("ecosystem", "name", "description", "downloads"),
    *("review_status", "stopped_at", "added_by_id"),
)

STOP_CHANNEL = "outfitter_stops"
"""NOTIFY channel on which it is told that a tool or package was stopped; the payload is its id."""

SEARCH_XID_HELP = "The transaction that last changed what the search reads; set by a trigger."
VECTOR_CHANNEL = "outfitter_vectors"
"""NOTIFY channel on which it is told of which tools vectors were stored or removed: their ids,
separated by commas."""
WEIGHTS_CHANNEL = "outfitter_weights"
"""NOTIFY channel on which it is told that governors saved search weights; the payload is their
version."""

AUDIT_CHANNEL = "outfitter_audit"
"""NOTIFY channel that rings when anything governed has changed: tools, agents, links, groups. The
payload is empty, and one transaction rings once."""

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


def stamps_search_change(
    name: str, columns: Sequence[str], *, also: str = "false"
) -> pgtrigger.Trigger:
    """Stamp a row with its transaction whenever one of `columns` changes, and ring the bell.

    `also` is an SQL condition over OLD and NEW that counts as a change, too. Nobody else can
    write `search_xid`. A reader that noted `pg_snapshot_xmin(pg_current_snapshot())` before it
    read finds everything that it cannot have seen at `search_xid >=` that.
    """
    old = ", ".join(f"OLD.{column}" for column in columns)
    new = ", ".join(f"NEW.{column}" for column in columns)
    return pgtrigger.Trigger(
        name=name,
        when=pgtrigger.Before,
        operation=pgtrigger.Insert | pgtrigger.Update,
        func=f"""
            IF TG_OP = 'UPDATE' THEN
                NEW.search_xid := OLD.search_xid;
                IF ({new}) IS NOT DISTINCT FROM ({old}) AND NOT ({also}) THEN
                    RETURN NEW;
                END IF;
            END IF;
            NEW.search_xid := pg_current_xact_id()::text::bigint;
            PERFORM pg_notify('{CHANGE_CHANNEL}', '');
            RETURN NEW;
        """,
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


def rings_audit() -> pgtrigger.Trigger:
    """Ring when events were written: whatever decides on who may call what is audited."""
    return pgtrigger.Trigger(
        name="audit_rings",
        level=pgtrigger.Statement,
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        func=f"PERFORM pg_notify('{AUDIT_CHANNEL}', ''); RETURN NULL;",
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


EMBEDDED_COLUMNS = (
    *("package_id", "export_name", "wire_name", "description", "category", "input_schema"),
    *("output_schema", "ai_agent", "deleted_at"),
)
"""What a tool's document is made of, as far as its own row has it."""


def queues_vector() -> pgtrigger.Trigger:
    """Have a tool's vector worked out anew when its text changes; drop it with the tool."""
    old, new = (", ".join(f"{row}.{name}" for name in EMBEDDED_COLUMNS) for row in ("OLD", "NEW"))
    return pgtrigger.Trigger(
        name="tool_vector_due",
        when=pgtrigger.After,
        operation=pgtrigger.Insert | pgtrigger.Update,
        func=f"""
            IF TG_OP = 'UPDATE' THEN
                IF ({old}) IS NOT DISTINCT FROM ({new}) THEN RETURN NULL; END IF;
            END IF;
            IF NEW.deleted_at IS NOT NULL THEN
                DELETE FROM registry_toolvector WHERE tool_id = NEW.id;
            ELSE
                INSERT INTO registry_toolvector (tool_id, encoder, problem, due_at)
                VALUES (NEW.id, '', '', clock_timestamp())
                ON CONFLICT (tool_id) DO UPDATE
                SET due_at = excluded.due_at, claimed_until = NULL;
            END IF;
            RETURN NULL;
        """,  # noqa: S608 - own names only
    )


def tells_vector_gone() -> pgtrigger.Trigger:
    """Tell every process that a tool has no vector any longer."""
    return pgtrigger.Trigger(
        name="vector_gone",
        when=pgtrigger.After,
        operation=pgtrigger.Delete,
        func=f"PERFORM pg_notify('{VECTOR_CHANNEL}', OLD.tool_id::text); RETURN NULL;",
    )
