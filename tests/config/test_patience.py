"""Waiting for a database that restarts."""

import pytest
from django.db import OperationalError, transaction

from config.lib.patience import patiently

pytestmark = pytest.mark.django_db(transaction=True)


class Away:
    """A database that answers at the third time."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        if self.asked < 3:
            raise OperationalError("the server is starting up")
        return "here"


def test_a_database_that_comes_back_is_waited_for() -> None:
    assert patiently(Away()) == "here"


def test_a_transaction_that_lost_its_connection_is_not_gone_on_with() -> None:
    away = Away()
    with pytest.raises(OperationalError, match="starting up"), transaction.atomic():
        patiently(away)
    assert away.asked == 1


def test_any_other_trouble_is_told_at_once() -> None:
    def wrong() -> None:
        raise LookupError("nothing here")

    with pytest.raises(LookupError, match="nothing here"):
        patiently(wrong)
