"""What every answer of the REST API has in common, also where no view gives it."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings
from django.urls import path
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.api_versions import Deprecation
from tests.flows.hostility import refusal_of

JSON = "application/json"


@pytest.fixture
def client(alice: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(alice)
    return client


class Old(APIView):
    deprecation = Deprecation(
        since=datetime(2026, 1, 1, tzinfo=UTC), sunset=datetime(2027, 1, 1, tzinfo=UTC)
    )

    def get(self, request: Any) -> Response:
        return Response({})


class Broken(APIView):
    def get(self, request: Any) -> Response:
        raise RuntimeError("a secret of the inside")


urlpatterns = [path("api/v1/old/", Old.as_view()), path("api/v1/broken/", Broken.as_view())]


def test_every_answer_names_the_version(client: Client) -> None:
    for address in ("/api/v1/tools/", "/api/v1/nothing/", "/api/v1/agents/none/"):
        assert client.get(address)["API-Version"] == "1"


@pytest.mark.parametrize("method", ["get", "post", "put", "delete"])
@pytest.mark.parametrize("address", ["/api/v1/nothing/", "/api/v9/tools/", "/api/nothing/"])
def test_an_unknown_address_is_refused_in_json(client: Client, method: str, address: str) -> None:
    answer = getattr(client, method)(address)
    assert answer.status_code == 404
    assert refusal_of(answer)["code"] == "not_found"


def test_a_post_without_the_last_slash_is_told_so_and_not_led_to_a_get(client: Client) -> None:
    answer = client.post("/api/v1/agents", {"name": "x"}, JSON)
    assert answer.status_code == 404
    assert "/api/v1/agents/" in refusal_of(answer)["hint"]


def test_another_method_is_refused_with_those_that_are_taken(client: Client) -> None:
    answer = client.delete("/api/v1/tools/")
    assert answer.status_code == 405
    assert set(answer["Allow"].split(", ")) == {"GET", "POST", "HEAD", "OPTIONS"}
    assert refusal_of(answer)["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ({"data": "{", "content_type": JSON}, 400, "parse_error"),
        ({"data": "a: b", "content_type": "text/yaml"}, 415, "unsupported_media_type"),
        ({"data": '{"name": "x", "nmae": "y"}', "content_type": JSON}, 400, "invalid_input"),
        ({"data": b" " * 6_000_001, "content_type": JSON}, 413, "body_too_large"),
    ],
    ids=["no JSON", "no JSON by its type", "an unknown field", "too large"],
)
def test_a_body_that_cannot_be_taken_is_refused(
    client: Client, sent: dict[str, Any], status: int, code: str
) -> None:
    answer = client.post("/api/v1/agents/", **sent)
    assert answer.status_code == status
    assert refusal_of(answer)["code"] == code


def test_an_unknown_field_is_named(client: Client) -> None:
    body = refusal_of(client.post("/api/v1/agents/", {"name": "x", "nmae": "y"}, JSON))
    assert body["extra"]["problems"] == [{"path": "$.nmae", "message": "There is no such field."}]


def test_a_form_that_is_not_given_is_refused(client: Client) -> None:
    answer = client.get("/api/v1/tools/", headers={"Accept": "image/png"})
    assert answer.status_code == 406
    assert refusal_of(answer)["code"] == "not_acceptable"


@override_settings(ROOT_URLCONF=__name__)
def test_what_is_deprecated_says_since_when_and_until_when(client: Client) -> None:
    answer = client.get("/api/v1/old/")
    assert answer["Deprecation"] == "@1767225600"
    assert answer["Sunset"] == "Fri, 01 Jan 2027 00:00:00 GMT"
    assert answer["Link"] == '</api/docs/>; rel="deprecation"; type="text/html"'


def test_what_is_deprecated_is_kept_for_half_a_year() -> None:
    day = datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(ValueError, match="180 days"):
        Deprecation(since=day, sunset=datetime(2026, 2, 1, tzinfo=UTC))


@override_settings(ROOT_URLCONF=__name__)
def test_what_breaks_is_told_in_json_without_its_inside(client: Client) -> None:
    answer = client.get("/api/v1/broken/")
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal_error"
    assert "secret" not in answer.content.decode()
