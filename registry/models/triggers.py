"""Triggers that several models share."""

import pgtrigger

CHANGE_CHANNEL = "outfitter_registry"
"""NOTIFY channel on which every change of what is searchable is told; the payload is a tool id,
or empty when more than one tool may have changed."""

STOP_CHANNEL = "outfitter_stops"
"""NOTIFY channel on which it is told that a tool or package was stopped; the payload is its id."""


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
