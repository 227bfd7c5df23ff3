"""A change that breaks what others use is made by who has seen and agreed to it."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from registry.impact.finding import impact_of
from registry.impact.parts import Impact
from registry.models import Tool
from registry.specs import snapshot_of

FIELD = "agreed"
"""Field of a form: the digest of the impact that was shown and agreed to."""


class AgreementNeededError(Exception):
    """Something would break, and whoever makes the change has not agreed to just that."""

    def __init__(self, impact: Impact) -> None:
        self.impact = impact
        super().__init__(impact.summary)


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
