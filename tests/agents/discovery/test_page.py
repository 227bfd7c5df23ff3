"""The page that shows people what programs find."""

import pytest
from django.test import Client

from registry.models.tool import Visibility
from tests.factories import make_tool

pytestmark = pytest.mark.django_db


def test_anybody_sees_the_public_list_and_which_scopes_it_takes(alice, client_for):
    tool = make_tool(wire_name="weather", required_scopes=["weather:read"])
    make_tool(wire_name="secret_tool", owner=alice, visibility=Visibility.PRIVATE)
    stranger = Client().get("/discovery/").content.decode()
    known = client_for(alice).get("/discovery/").content.decode()

    for page in (stranger, known):
        assert "weather:read" in page
        assert "1 tool, 1 scope; 0 take none." in page
        assert "secret_tool" not in page
        assert "curl http://testserver/api/v1/discovery/" in page
    assert f"/tools/{tool.pk}/" not in stranger
    assert f"/tools/{tool.pk}/" in known


def test_the_page_says_what_to_do_while_nothing_is_public(alice, client_for):
    assert "Nothing is public yet" in Client().get("/discovery/").content.decode()
    assert "/tools/new/api" in client_for(alice).get("/discovery/").content.decode()


def test_the_page_leads_through_a_long_list(monkeypatch):
    monkeypatch.setattr("agents.views.discovery.PAGE_SIZE", 2)
    for name in "abc":
        make_tool(wire_name=name, execution_health="needs_key")
    first = Client().get("/discovery/")
    assert "Next page" in first.content.decode()
    assert "Needs a key" in first.content.decode()
    rest = Client().get(f"/discovery/?cursor={first.context['next']}")
    assert [tool["name"] for tool in rest.context["tools"]] == ["c"]
    assert "First page" in rest.content.decode()
    assert Client().get("/discovery/?cursor=!").status_code == 200
