"""What else does much the same, on a tool's page."""

import pytest

from tests.factories import make_package, make_tool

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def weather(name, **fields):
    return make_tool(
        wire_name=name, title=name, description="Tells the weather forecast of a town.", **fields
    )


def test_a_broken_tools_page_shows_what_could_do_it_instead(alice, client_for):
    package = make_package()
    broken = weather("broken_one", import_health="broken", package=package)
    weather("sibling", package=package)
    weather("other")
    client = client_for(alice)
    page = client.get(f"/tools/{broken.pk}/").content.decode()
    assert f'hx-get="/tools/{broken.pk}/similar/"' in page
    part = client.get(f"/tools/{broken.pk}/similar/", headers=HTMX).content.decode()
    assert part.count('class="card card-link"') == 2
    assert part.count("same package") == 1
    assert "broken_one" not in part
    assert "<h1>" not in part
    assert (
        "<h1>Tools like broken_one</h1>"
        in client.get(f"/tools/{broken.pk}/similar/").content.decode()
    )


def test_where_nothing_is_alike_that_is_said(alice, client_for):
    lonely = weather("lonely")
    weather("broken_two", import_health="broken")
    part = client_for(alice).get(f"/tools/{lonely.pk}/similar/", headers=HTMX).content.decode()
    assert "No other tool that works is like this one." in part


def test_who_may_not_see_the_tool_is_told_nothing_of_it(alice, bob, client_for):
    hidden = weather("hidden", owner=bob, visibility="private")
    assert client_for(alice).get(f"/tools/{hidden.pk}/similar/").status_code == 404
