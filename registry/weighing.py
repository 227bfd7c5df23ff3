"""Decide what the ranking of tools weighs, for everybody."""

from collections.abc import Mapping

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from config.lib.changes import decided
from config.lib.errors import Conflict, InvalidInput
from config.lib.types import JsonObject
from registry.models import SearchWeights
from registry.search.in_force import (
    Decided,
    decided_of,
    weights_forget,
    weights_history,
    weights_version,
)
from registry.search.weights import BOUNDS, Weights
from registry.stopping import checked_reason

PERMISSION = "registry.add_searchweights"


def weights_save(
    user: User, values: Mapping[str, object], reason: str, *, based_on: int
) -> Decided:
    """Put weights in force, everywhere within a second, and return them with their version.

    `values` has every weight by its name. `based_on` is the version that they were made from:
    where another governor saved meanwhile, this one is told so and nothing is lost. Raises
    NotAllowed, InvalidInput with `extra["problems"]`, or Conflict.
    """
    reason = checked_reason(reason, user, PERMISSION)
    return _decide(user, checked_weights(values), reason, based_on, None)


def weights_restore(user: User, version: int, reason: str, *, based_on: int) -> Decided:
    """Put the weights of an earlier version in force again, 0 for the product's own.

    Raises what `weights_save` does, and NotFound where there is no such version.
    """
    reason = checked_reason(reason, user, PERMISSION)
    return _decide(user, weights_version(version).weights, reason, based_on, version)


def checked_weights(values: Mapping[str, object]) -> Weights:
    """Return weights, or raise InvalidInput that names each that is missing, unknown or out of
    its bounds."""
    problems = [
        _problem(name, f"is missing; it is from {bound.least:g} to {bound.most:g}")
        for name, bound in BOUNDS.items()
        if name not in values
    ]
    own = Weights().as_dict()
    for name, value in values.items():
        try:
            Weights.of({**own, name: value})
        except ValueError as error:
            problems.append(_problem(name, str(error)))
    if problems:
        raise InvalidInput("These are no weights.", "Correct the named ones.", problems=problems)
    try:
        return Weights.of(values)
    except ValueError as error:  # each can be, but not all of them together
        raise InvalidInput(str(error), "Raise one of them.") from error


def _problem(name: str, message: str) -> JsonObject:
    return {"path": f"$.values.{name}", "message": message}


def _decide(
    user: User, weights: Weights, reason: str, based_on: int, restored_from: int | None
) -> Decided:
    newest = weights_history()[0]
    if newest.version != based_on:
        raise _meanwhile(newest)
    if newest.weights == weights:
        raise InvalidInput(
            "These weights are in force already.", "Change one of them, or leave it so."
        )
    row = SearchWeights(
        version=based_on + 1,
        values=weights.as_dict(),
        reason=reason,
        by=user,
        restored_from=restored_from,
    )
    try:
        with decided(user, reason), transaction.atomic():
            row.save(force_insert=True)
            transaction.on_commit(weights_forget)
    except IntegrityError as error:
        # The key is the version: of two who save at once, one finds it taken.
        newest = weights_history()[0]
        if newest.version == based_on:
            raise
        raise _meanwhile(newest) from error
    return decided_of(row)


def _meanwhile(newest: Decided) -> Conflict:
    weights_forget()  # this process may not have heard of it yet
    who = f" by {newest.by.username}" if newest.by else ""
    told = f": {newest.reason}" if newest.reason else "."
    return Conflict(
        f"The weights changed meanwhile; version {newest.version} is in force{who}{told}",
        "Nothing was saved. Look at what they are now, then save yours again.",
        version=newest.version,
    )
