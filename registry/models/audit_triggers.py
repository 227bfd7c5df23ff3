"""The triggers that write the audit: one event for each change of what is governed.

They are SQL, so that nothing which changes a row goes round them: a bulk update, a migration and
somebody's psql are told of as well. See docs/decisions/0012-audit-by-triggers.md.
"""

from collections.abc import Sequence
from typing import Any

import pgtrigger

RETENTION = "outfitter.retention"
"""The setting of a transaction in which what is append-only may be deleted; see `retention`."""

EMPTY = "outfitter.empty"
"""The setting of a connection that may empty whole tables; only that of the tests does."""

_FUNCTION = """
item := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
PERFORM outfitter_audit(
    lower(TG_OP), '{model}', item.{key}::text, {label}, {subject_model}, {subject_id}::text,
    ARRAY[{columns}],
    CASE WHEN TG_OP = 'INSERT' THEN '{{}}' ELSE to_jsonb(OLD) END,
    CASE WHEN TG_OP = 'DELETE' THEN '{{}}' ELSE to_jsonb(NEW) END
);
RETURN NULL;
"""
"""`outfitter_audit` compares the columns and writes the event; migration 0010 makes it."""


class _Audit(pgtrigger.Trigger):
    """Calls `outfitter_audit`; knows its model when it is rendered."""

    when = pgtrigger.After

    def __init__(
        self, *, fields: Sequence[str], label: str, subject: tuple[str, str] | None, **options: Any
    ) -> None:
        super().__init__(declare=[("item", "record")], **options)
        self.fields, self.label, self.subject = fields, label, subject

    def get_func(self, model: Any) -> str:
        """Return the body of the trigger's function."""
        meta = model._meta.concrete_model._meta
        own = (f"'{meta.label_lower}'", f"item.{meta.pk.column}")
        subject_model, subject_id = self.subject or own
        return _FUNCTION.format(
            columns=", ".join(f"'{meta.get_field(name).column}'" for name in self.fields),
            model=meta.label_lower,
            key=meta.pk.column,
            label=self.label,
            subject_model=subject_model,
            subject_id=subject_id,
        ).strip()


def audited(
    name: str,
    *fields: str,
    label: str,
    subject: tuple[str, str] | None = None,
    updates: bool = True,
) -> list[pgtrigger.Trigger]:
    """Return triggers that tell of every row that comes, goes or changes in these fields.

    `label` is SQL over `item`, the row. `subject` is what the row belongs to, in whose history it
    is told: its model and its id, both in SQL; without it the row itself.
    """
    told: dict[str, Any] = {"fields": fields, "label": label, "subject": subject}
    operation = pgtrigger.Insert | pgtrigger.Delete
    triggers: list[pgtrigger.Trigger] = [_Audit(name=f"{name}_audit", operation=operation, **told)]
    if updates:
        condition = pgtrigger.AnyChange(*fields)
        change = _Audit(
            name=f"{name}_audit_change", operation=pgtrigger.Update, condition=condition, **told
        )
        triggers.append(change)
    return triggers


def never_emptied(name: str) -> pgtrigger.Trigger:
    """Refuse to empty the whole table at once, which no trigger of its rows would hear of."""
    return pgtrigger.Trigger(
        name=name,
        level=pgtrigger.Statement,
        when=pgtrigger.Before,
        operation=pgtrigger.Truncate,
        func=f"""
            IF current_setting('{EMPTY}', true) IS DISTINCT FROM 'on' THEN
                RAISE EXCEPTION '% is append-only and cannot be emptied', TG_TABLE_NAME;
            END IF;
            RETURN NULL;
        """,
    )


def kept_until_retention(name: str, deletable: str = "") -> list[pgtrigger.Trigger]:
    """Refuse every update, and every delete but what retention deletes.

    `deletable` is SQL over OLD that has to hold for retention, too.
    """
    allowed = f"current_setting('{RETENTION}', true) = 'on'"
    allowed = f"{allowed} AND ({deletable})" if deletable else allowed
    return [
        never_emptied(f"{name}_truncate"),
        pgtrigger.Protect(name=name, operation=pgtrigger.Update),
        pgtrigger.Protect(
            name=f"{name}_delete",
            operation=pgtrigger.Delete,
            condition=pgtrigger.Condition(f"(({allowed}) IS NOT TRUE)"),
        ),
    ]
