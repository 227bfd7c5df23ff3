"""`make bench`: what the spine costs, as ratios against named baselines in the same run."""

from __future__ import annotations

import pytest

from registry.builtins import BUILTINS
from registry.context import CallContext
from registry.execution import invoke
from registry.loading import load_spec
from registry.models import Invocation
from registry.models.invocation import Caller
from tests.benchmarks.measure import Baseline, compare
from tests.factories import make_builtin

pytestmark = [pytest.mark.bench, pytest.mark.django_db]


def test_a_call_of_a_built_in_through_the_door(alice):
    spec = load_spec(make_builtin("change_case"))
    context = CallContext(user=alice, caller=Caller.REST)
    arguments = {"text": "hello", "case": "upper"}

    def one_row():
        Invocation.objects.create(
            tool_id=spec.tool_id,
            tool_version=1,
            caller=Caller.REST,
            user=alice,
            outcome="succeeded",
            phase="execute",
            arguments=arguments,
            duration_ms=0,
        )
        return BUILTINS["change_case"].run(arguments)

    compare(
        "invoke() a built-in",
        lambda: invoke(spec, arguments, context),
        Baseline("the tool and its row, without the door", one_row, 5),
        limit=1.5,
    )
