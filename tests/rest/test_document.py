"""The OpenAPI document tells the truth: schemathesis tries every operation against it."""

import zlib
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from schemathesis.core.parameters import ParameterLocation
from schemathesis.pytest.lazy import get_all_tests

from tests.rest.world import follows_a_stream, is_as_described, keeps_its_word, undone

SHARES = 8
"""Tests that the operations are dealt out to, so that processes beside each other take some each.

One test for each operation, as schemathesis makes them, would have every process of every test run
read the whole document before its first test.
"""


@pytest.mark.parametrize("share", range(SHARES))
def test_operations_do_what_their_document_says(
    share: int, product: Any, world: dict[str, Any], subtests: pytest.Subtests
) -> None:
    """Try what is right and what is wrong; each request finds the same things."""
    chosen = product.include(lambda context: _share_of(context.operation.label) == share)
    for made in get_all_tests(schema=chosen, test_func=_tried, settings=_SETTINGS, given_kwargs={}):
        operation, tried = made.ok()
        with subtests.test(operation.label):
            tried(world=world)


_SETTINGS = settings(
    suppress_health_check=list(HealthCheck), deadline=None, phases=[Phase.explicit, Phase.generate]
)


def _share_of(label: str) -> int:
    return zlib.crc32(label.encode()) % SHARES


def _tried(case: Case, world: dict[str, Any]) -> None:
    """Send one request, and compare what it is answered with the document."""
    if follows_a_stream(case) and is_as_described(case):
        return  # tests/chat follows streams, beside the worker that ends them; refusals are tried
    _point_at(case, world)
    case.headers.pop("If-Match", None)  # a made-up one never matches; see test_conditional
    headers = {"Authorization": f"Bearer {world['token']}"}
    with undone():
        case.call_and_validate(headers=headers, additional_checks=[keeps_its_word])


def _point_at(case: Case, world: dict[str, Any]) -> None:
    """Have a request whose address is as described go to what there is."""
    made = case.meta.components.get(ParameterLocation.PATH) if case.meta else None
    if made is not None and made.mode.is_negative:
        return
    for name in case.path_parameters or {}:
        if name in world:
            case.path_parameters[name] = str(world[name])
