"""A change that breaks what others use is made by who has seen and agreed to it."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from config.lib.errors import Conflict
from registry.impact.finding import impact_of
from registry.impact.parts import Impact
from registry.models import Tool
from registry.specs import snapshot_of

FIELD = "agreed"
"""Field of a form: the digest of the impact that was shown and agreed to."""


class AgreementNeededError(Conflict):
    """Something would break, and whoever makes the change has not agreed to just that."""

    code = "agreement_needed"  # `extra.agreed` is what to send to agree
    default_hint = "Look at what breaks. Send `agreed` as it is told here to go on all the same."

    def __init__(self, impact: Impact) -> None:
        self.impact = impact
        problems = [
            {"name": item.name, "where": trouble.where, "message": trouble.message}
            for item, trouble in impact.troubles
            if trouble.breaks
        ]
        super().__init__(impact.summary, agreed=impact.digest, problems=problems)


def edit_impact(tool: Tool, changes: Mapping[str, Any], *, user: User) -> Impact | None:
    """Return what these changes of a snapshot would do to others; None for a new tool."""
    if not tool.version:
        return None
    return impact_of([tool.pk], user=user, proposed={tool.pk: {**snapshot_of(tool), **changes}})


def require_agreement(impact: Impact | None, agreed: str) -> None:
    """Raise AgreementNeededError where something breaks that was not agreed to.

    What breaks may have grown since it was shown; then it is shown anew.
    """
    if impact is not None and impact.breaks and agreed != impact.digest:
        raise AgreementNeededError(impact)
