"""Each request has an id, a line in the log, and counts by its route."""

from __future__ import annotations

import logging
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.tokens import token_create
from config.asgi import application
from config.lib import meters

pytestmark = pytest.mark.django_db(transaction=True)


def client() -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=application, raise_app_exceptions=False)  # type: ignore[arg-type]
    return httpx.AsyncClient(transport=transport, base_url="http://localhost")


def count(**labels: str) -> float:
    return meters.REGISTRY.get_sample_value("outfitter_http_requests_total", labels) or 0


async def answered(path: str, **headers: str) -> httpx.Response:
    async with client() as http:
        return await http.get(path, headers=headers)


@pytest.fixture
def access(caplog: pytest.LogCaptureFixture) -> Any:
    """Return what reads the facts of the lines for requests."""
    caplog.set_level(logging.INFO, logger="outfitter.access")

    def lines() -> list[Any]:
        return [record for record in caplog.records if record.name == "outfitter.access"]

    return lines


async def test_the_id_that_a_proxy_gave_is_answered_and_noted(access: Any) -> None:
    response = await answered("/login/", **{"X-Request-ID": "proxy-0001-abcd"})
    assert response.headers["X-Request-ID"] == "proxy-0001-abcd"
    assert response.headers.get_list("X-Request-ID") == ["proxy-0001-abcd"]
    [line] = access()
    assert (line.method, line.route, line.status) == ("GET", "/login/", 200)
    assert line.caller == "anonymous"


async def test_the_line_has_the_route_and_neither_the_path_nor_the_query(access: Any) -> None:
    await answered("/agents/no-such-agent/?access_token=very-secret-indeed")
    [line] = access()
    told = f"{line.getMessage()} {line.__dict__}"
    assert "very-secret" not in told
    assert "no-such-agent" not in told
    assert "<" in line.route


async def test_a_request_is_counted_by_its_route(alice: User) -> None:
    before = count(method="GET", route="/login/", status="200")
    await answered("/login/?next=/one/")
    await answered("/login/?next=/two/")
    assert count(method="GET", route="/login/", status="200") == before + 2


async def test_addresses_that_there_are_not_share_one_count() -> None:
    before = count(method="GET", route="unknown", status="404")
    for number in range(3):
        await answered(f"/nowhere-{number}")
    assert count(method="GET", route="unknown", status="404") == before + 3


async def test_the_line_of_a_rest_call_says_that_a_token_came(alice: User, access: Any) -> None:
    from config.lib.threads import in_thread

    _, text = await in_thread(token_create, alice, name="script")
    await answered("/api/v1/tools/", Authorization=f"Bearer {text}")
    [line] = access()
    assert (line.caller, line.status) == ("token", 200)
    assert text not in str(line.__dict__)


async def test_probes_are_counted_and_not_logged(access: Any) -> None:
    before = count(method="GET", route="/healthz", status="200")
    await answered("/healthz")
    assert count(method="GET", route="/healthz", status="200") == before + 1
    assert access() == []


async def test_a_method_that_nobody_knows_is_no_label_of_its_own() -> None:
    before = count(method="unknown", route="/healthz", status="403")
    async with client() as http:
        await http.request("BREW", "/healthz")
    assert count(method="unknown", route="/healthz", status="403") == before + 1
    samples = [s for metric in meters.REGISTRY.collect() for s in metric.samples]
    assert not any(sample.labels.get("method") == "BREW" for sample in samples)


@pytest.mark.parametrize("path", ["/healthz", "/metrics"])
def test_probes_are_answered_without_tls_where_everything_else_is_sent_to_it(
    path: str, settings: Any
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert Client().get("/login/").status_code == 301
    assert Client().get(path).status_code == 200
