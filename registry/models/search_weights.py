"""What the ranking of tools weighs, as governors decided it over time."""

from collections.abc import Mapping

import pgtrigger
from django.conf import settings
from django.db import models

from registry.models.audit_triggers import audited, never_emptied
from registry.models.stoppable import LONGEST_REASON
from registry.models.triggers import WEIGHTS_CHANNEL, append_only
from registry.search.weights import BOUNDS, Bound


def _complete_and_in_bounds(bounds: Mapping[str, Bound]) -> str:
    """Return the body of a trigger that refuses values which are no weights of this release."""
    names = ", ".join(f"'{name}'" for name in bounds)
    rows = ", ".join(
        f"('{name}', {bound.least!r}, {bound.most!r})" for name, bound in bounds.items()
    )
    return f"""
        wrong := (SELECT string_agg(key, ', ') FROM jsonb_object_keys(NEW."values") AS key
                  WHERE key NOT IN ({names}));
        IF wrong IS NOT NULL THEN
            RAISE check_violation USING MESSAGE = 'no such weight: ' || wrong;
        END IF;
        wrong := (SELECT string_agg(name, ', ') FROM (VALUES {rows}) AS bound (name, least, most)
                  WHERE CASE jsonb_typeof(NEW."values" -> name)
                      WHEN 'number' THEN (NEW."values" ->> name)::float8 NOT BETWEEN least AND most
                      ELSE true END);
        IF wrong IS NOT NULL THEN
            RAISE check_violation USING MESSAGE = 'weights missing or out of bounds: ' || wrong;
        END IF;
        RETURN NEW;
    """  # noqa: S608 - own names and numbers only


class SearchWeights(models.Model):
    """One decision; the newest is in force, and before the first the product's own weights are.

    `values` has every name of `registry.search.weights.BOUNDS`. A trigger holds them to their
    bounds as they come, not a CHECK: a release that knows other weights leaves older rows be.
    """

    version = models.PositiveIntegerField(primary_key=True)
    values = models.JSONField()
    reason = models.CharField(max_length=LONGEST_REASON)
    restored_from = models.PositiveIntegerField(
        null=True, blank=True, help_text="The version whose weights these are; 0: the product's."
    )
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = verbose_name_plural = "search weights"
        default_permissions = ("add", "view")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(version__gte=1), name="search_weights_positive"
            ),
            models.CheckConstraint(
                condition=~models.Q(reason__regex=r"^\s*$"), name="search_weights_reason"
            ),
            models.CheckConstraint(
                condition=models.Q(restored_from=None)
                | models.Q(restored_from__lt=models.F("version")),
                name="search_weights_restored_before",
            ),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="search_weights_values",
                when=pgtrigger.Before,
                operation=pgtrigger.Insert,
                declare=[("wrong", "text")],
                func=_complete_and_in_bounds(BOUNDS),
            ),
            append_only("search_weights_append_only"),
            never_emptied("search_weights_truncate"),
            pgtrigger.Trigger(
                name="search_weights_notify",
                when=pgtrigger.After,
                operation=pgtrigger.Insert,
                func=f"PERFORM pg_notify('{WEIGHTS_CHANNEL}', NEW.version::text); RETURN NULL;",
            ),
            *audited(
                "search_weights",
                "version",
                "values",
                "reason",
                "restored_from",
                "by",
                label="'Search weights ' || item.version",
                updates=False,
            ),
        ]

    def __str__(self) -> str:
        return f"Search weights {self.version}"
