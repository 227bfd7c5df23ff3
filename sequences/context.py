"""Put together the circumstances under which a run calls its tools."""

import json
from collections.abc import Mapping

from django.conf import settings
from django.utils.module_loading import import_string

from agents.access import denied_by, granted_to
from agents.approvals import policy_of
from agents.credentials import env_of, revealed
from config.lib.errors import DomainError
from registry.approval import everything_allowed
from registry.context import CallContext, as_granted, nothing_denied
from registry.models.invocation import Caller
from sequences.models import Run


class OwnerInactive(DomainError):
    """The account that this runs for is closed."""

    code = "owner_inactive"
    default_hint = "Its runs would have nobody's rights. Make another under your own account."


def context_of(run: Run) -> CallContext:
    """Return the rights and means of whoever started the run, read from the run's row.

    A worker has nothing else to go by, and a sequence inside a sequence gets no more than this:
    credentials are read anew for every step. Of a run that a conversation started, the row has a
    reference only, by which the conversation's values are found. Raises OwnerInactive.
    """
    if not run.user.is_active:
        raise OwnerInactive
    context = CallContext(
        user=run.user,
        caller=Caller(run.caller),
        scopes=None if run.scopes is None else frozenset(run.scopes),
        granted=granted_to(run.agent) if run.agent else as_granted,
        env=env_of(run.user, run.agent),
        policy=policy_of(run.agent) if run.agent else everything_allowed,
        approved=True,  # what its settings ask about was approved before the run was made
        denied=denied_by(run.agent) if run.agent else nothing_denied,
        agent_id=run.agent_id,
        turn_id=run.turn_id,
        run_id=run.pk,
    )
    if run.turn_id:
        context = import_string(settings.TURN_MEANS)(context)
    return context.with_given(_given(run))


def _given(run: Run) -> Mapping[str, str]:
    """Open the values that came with the call of the run."""
    if run.given is None:
        return {}
    values: dict[str, str] = json.loads(revealed("What was given to the run", run.given))
    return values
