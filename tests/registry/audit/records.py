"""People with roles, and records for them to read."""

from datetime import timedelta
from typing import Any

import pgtrigger
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from registry.models import Invocation, Tool
from registry.roles import Role, role_give
from tests import factories


def person(role: Role, name: str = "") -> User:
    """Make a person with a role."""
    user = factories.make_user(name or f"some_{role}")
    role_give(user, role)
    return User.objects.get(pk=user.pk)


def call(tool: Tool, user: User | None, **fields: Any) -> Invocation:
    """Record a call."""
    values = {
        "tool": tool,
        "tool_version": 1,
        "caller": "rest",
        "user": user,
        "outcome": "succeeded",
        "phase": "execute",
        "arguments": {"text": "whisper"},
        "output": "loud answer",
        "duration_ms": 12,
    }
    return Invocation.objects.create(**{**values, **fields})


def age(table: str, column: str, key: Any, days: int) -> None:
    """Make a record older than it is, past the trigger that forbids it."""
    with pgtrigger.ignore(), connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET {column} = %s WHERE id = %s",  # noqa: S608 - the test's own names
            [timezone.now() - timedelta(days=days), key],
        )
