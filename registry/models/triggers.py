"""Triggers that several models share."""

import pgtrigger

CHANGE_CHANNEL = "outfitter_registry"
"""NOTIFY channel on which every change of what is searchable is told; the payload is a tool id,
or empty when more than one tool may have changed."""


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
