"""The command palette: what it finds for whom, in how many queries."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from config import palette
from registry.search.lookup import look_up
from registry.search.words import words_of
from tests.factories import make_agent, make_conversation, make_person, make_sequence, make_tool

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def opened(client, text=""):
    return client.get("/search/palette/", {"q": text}, headers=HTMX).content.decode()


def test_it_finds_tools_pages_agents_and_conversations_by_their_words(alice, client_for):
    tool = make_tool(wire_name="acme_packList", title="Packing list")
    agent = make_agent(alice, name="Parcel packer")
    conversation = make_conversation(alice, agent, title="What to pack for Oslo")
    text = opened(client_for(alice), "pack")
    for group in ("Tools", "Pages", "Agents", "Conversations"):
        assert f'aria-label="{group}"' in text
    assert f"/tools/{tool.pk}/" in text
    assert f"/agents/{agent.slug}/" in text
    assert f"/chat/{conversation.pk}/" in text
    assert 'href="/packages/"' in text
    assert text.index("Packing list") < text.index("Parcel packer")


def test_without_a_word_it_shows_pages_and_what_was_talked_about_last(alice, client_for):
    for number in range(6):
        make_conversation(alice, make_agent(alice), title=f"Talk {number}")
    text = opened(client_for(alice))
    assert 'href="/tools/"' in text
    assert "Talk 5" in text and "Talk 2" in text
    assert "Talk 1" not in text
    assert 'aria-label="Tools"' not in text


def test_nobody_finds_what_is_anothers(alice, bob, client_for):
    make_tool(wire_name="secret_tool", title="Secret", owner=bob, visibility="private")
    make_sequence(bob, wire_name="secret_steps", title="Secret steps")
    make_conversation(bob, make_agent(bob, name="Secret agent"), title="Secret talk")
    assert "Secret" not in opened(client_for(alice), "secret").replace("“secret”", "")
    text = opened(client_for(bob), "secret")
    assert text.count('role="option"') == 4


def test_governance_is_for_those_who_may(alice, client_for):
    assert "/audit/" not in opened(client_for(alice), "audit")
    staff = make_person("staff", is_staff=True)
    assert "/audit/" not in opened(client_for(staff), "audit")
    assert "/admin/" in opened(client_for(staff), "admin")
    staff.user_permissions.add(Permission.objects.get(codename="view_auditevent"))
    assert "/audit/" in opened(client_for(staff), "audit")


def test_a_tool_that_would_not_help_is_found_with_the_reason(alice, client_for):
    make_tool(wire_name="acme_weather", title="Weather", import_health="broken")
    assert "acme_weather · broken" in opened(client_for(alice), "weather")


def test_what_nothing_is_called_is_said(alice, client_for):
    text = opened(client_for(alice), "<b>zzz</b>")
    assert "Nothing is called so" in text
    assert "&lt;b&gt;zzz" in text and "<b>zzz" not in text


def test_a_stranger_has_to_sign_in():
    answer = Client().get("/search/palette/?q=x")
    assert (answer.status_code, answer.url[:7]) == (302, "/login/")


def test_it_asks_as_little_however_much_there_is(alice, client_for, django_assert_max_num_queries):
    client = client_for(alice)
    opened(client, "tool")
    for number in range(20):
        make_tool(title=f"Tool number {number}")
        make_conversation(alice, make_agent(alice), title=f"Tool talk {number}")
    opened(client, "tool")
    with django_assert_max_num_queries(20):
        text = opened(client, "tool")
    assert text.count('role="option"') >= 12


@pytest.mark.parametrize(
    "text",
    ["", " ", "x", "🙂" * 1_000, "\x00", "a\x00b", "\u202ex", "_", "%", "x " * 2_000, "天" * 2_000],
)
def test_any_text_has_an_answer_and_of_a_long_one_the_beginning_is_read(
    alice, client_for, monkeypatch, text
):
    make_tool(title="Weather")
    read = []

    def seen(texts, **named):
        read.extend(texts)
        return look_up(texts, **named)

    monkeypatch.setattr(palette, "look_up", seen)
    assert 'role="status"' in opened(client_for(alice), text)
    assert read == ([text[: palette.LONGEST]] if words_of(text) else [])


def test_without_javascript_it_is_a_page_and_its_button_leads_to_the_catalogue(alice, client_for):
    text = client_for(alice).get("/search/palette/?q=agents").content.decode()
    assert "<h1>Go to</h1>" in text
    assert 'class="palette-opener" href="/tools/"' in text
