"""What one person's call said is not read by others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.urls import reverse

from registry import health
from registry.errors import OutputRejected, ToolCrashed, ToolFailed
from registry.errors import UpstreamUnreachable as Unreachable
from registry.loading import load_spec
from registry.models import Invocation, Tool
from tests.factories import make_tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import User
    from django.test import Client

pytestmark = pytest.mark.django_db

SECRET = "the patient is Ms Miller"


@pytest.mark.parametrize("error", [ToolFailed, ToolCrashed, OutputRejected, Unreachable])
def test_what_a_tool_said_of_one_call_is_not_kept_as_its_health(
    alice: User, bob: User, client_for: Callable[[User], Client], error: type[ToolFailed]
) -> None:
    tool = make_tool()
    for _ in range(3):
        Invocation.objects.create(
            tool=tool,
            tool_version=1,
            caller="browser",
            user=alice,
            outcome="failed",
            phase="execute",
            error_code=error.code,
            error={"code": error.code, "message": SECRET},
            arguments={},
            duration_ms=1,
        )
    health.record_failure(load_spec(tool), error(f"Not found: {SECRET}", SECRET, seen=SECRET))
    stored = Tool.objects.get(pk=tool.pk)
    assert stored.health_error is not None
    assert stored.health_error["code"] == error.code
    assert SECRET not in str(stored.health_error)
    page = client_for(bob).get(reverse("registry:tool_detail", args=[tool.pk]))
    assert SECRET not in page.content.decode()
