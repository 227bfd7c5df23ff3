"""Search for a person: who finds what, with what score, and how fresh it is."""

import threading

import pytest
from django.db import connection, transaction

from registry.models.package import ReviewStatus
from registry.models.tool import Health, Visibility
from registry.search.service import reset, search
from registry.services import package_review, tool_delete, tool_publish, tool_review
from tests.factories import make_builtin, make_package, make_sequence, make_team, make_tool
from tests.live import eventually

pytestmark = pytest.mark.django_db

NEED = "convert html to markdown"


def markdown_tool(**fields):
    values = {
        "export_name": "htmlToMarkdownTool",
        "title": "Html to markdown",
        "description": "Convert HTML to markdown. Supports headings, lists and links.",
    }
    return make_tool(**{**values, **fields})


def found(user, query=NEED, **options):
    return [hit.tool_id for hit in search(query, user=user, **options).found]


def reasons(user, query=NEED, **options):
    return {hit.tool_id: hit.reason for hit in search(query, user=user, **options).hits}


@pytest.fixture
def catalogue(db):
    """A few real tools, so that words have weights."""
    for name in ("calculator", "current_time", "change_case", "convert_units", "hash_text"):
        make_builtin(name)


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("What time is it in Tokyo?", "current_time"),
        ("What is 17 * 23?", "calculator"),
        ("can you please make this uppercase: hello", "change_case"),
        ("how many kilometres are 26 miles, convert the units", "convert_units"),
        ("give me the sha256 checksum of hello", "hash_text"),
    ],
)
def test_a_message_finds_its_tool_first(alice, catalogue, message, name):
    assert search(message, user=alice).found[0].wire_name == name


@pytest.mark.parametrize(
    "message", ["hello", "thanks a lot!", "ok", "", " ", "?", "\x00", "🙂", "the of and", "x"]
)
def test_small_talk_and_nothing_find_nothing(alice, catalogue, message):
    assert found(alice, message) == []


def test_a_very_long_message_is_answered(alice, catalogue):
    assert search("convert units " * 20_000, user=alice).found[0].wire_name == "convert_units"


def test_a_score_is_told_with_its_parts(alice, catalogue):
    tool = markdown_tool()
    hit = search(NEED, user=alice).found[0]

    assert hit.tool_id == tool.pk
    assert 0 < hit.score <= 1
    assert {"text", "coverage", "clause", "passage", "history", "factor"} <= set(hit.parts)


def test_recent_messages_help_a_short_one(alice, catalogue):
    markdown_tool()
    alone = search("and now this one as markdown", user=alice).hits[0]
    with_history = search(
        "and now this one as markdown", user=alice, recent=["convert this html page"]
    ).hits[0]

    assert with_history.parts["history"] > 0
    assert with_history.score > alone.score


def test_downloads_and_quality_order_equals_and_find_nothing(alice, catalogue):
    popular = make_package(downloads=10_000_000)
    make_tool(description="Sends a postcard.", package=popular)
    plain = markdown_tool()
    liked = markdown_tool(package=popular)

    assert found(alice)[:2] == [liked.pk, plain.pk]
    assert found(alice, "hello there") == []


def test_tools_that_a_person_may_not_see_are_not_told_at_all(alice, charlie, catalogue):
    mine = markdown_tool(owner=alice, visibility=Visibility.PRIVATE)
    shared = markdown_tool(
        owner=alice, visibility=Visibility.TEAM, team=make_team("their team", alice)
    )
    waiting = markdown_tool(review_status=ReviewStatus.CANDIDATE)
    stopped = markdown_tool(review_status=ReviewStatus.QUARANTINED)

    assert {mine.pk, shared.pk} <= set(found(alice))
    assert not {mine.pk, shared.pk, waiting.pk, stopped.pk} & set(reasons(charlie))


def test_what_waits_for_review_is_found_by_whoever_made_it_and_a_package_by_nobody(
    alice, charlie, governor, catalogue
):
    def mine(user):
        reset()
        return set(reasons(user)) & {own.pk, imported.pk, synced.pk}

    waits = {"review_status": ReviewStatus.CANDIDATE}
    own = make_sequence(alice, title=NEED, description=NEED, visibility=Visibility.PUBLIC, **waits)
    package = make_package(added_by=alice, **waits)
    imported = markdown_tool(package=package)
    synced = markdown_tool(package=make_package(**waits))

    assert mine(alice) == {own.pk}
    assert mine(charlie) == mine(governor) == set()
    tool_review(own, status=ReviewStatus.APPROVED)
    package_review(package, status=ReviewStatus.APPROVED)
    assert mine(charlie) == {own.pk, imported.pk}
    package_review(package, status=ReviewStatus.REJECTED)
    assert mine(alice) == {own.pk}


def test_what_others_have_for_themselves_takes_no_place(alice, charlie, catalogue, monkeypatch):
    monkeypatch.setattr("registry.search.service.CANDIDATES", 2)
    for _ in range(4):
        make_sequence(charlie, title=NEED, description=NEED)
    tool = markdown_tool()
    assert tool.pk in found(alice)


def test_what_is_left_out_is_told_with_the_reason(alice, catalogue):
    broken = markdown_tool(execution_health=Health.BROKEN)
    linked = markdown_tool()
    scoped = markdown_tool(required_scopes=["files:write"])
    told = reasons(alice, exclude=frozenset({linked.pk}), scopes=frozenset())

    assert told[broken.pk] == "broken"
    assert told[linked.pk] == "already at hand"
    assert told[scoped.pk] == "requires the scope files:write"


def test_no_more_than_the_limit_is_injected(alice, catalogue):
    for _ in range(4):
        markdown_tool()
    answer = search(NEED, user=alice, limit=2)

    assert len(answer.found) == 2
    assert "enough tools found already" in {hit.reason for hit in answer.hits}


@pytest.mark.django_db(transaction=True)
def test_a_change_in_another_process_is_found_within_a_second(alice):
    """Changes made on another connection are heard of by NOTIFY; no one refreshes by hand."""
    make_builtin("calculator")
    assert found(alice) == []

    elsewhere(markdown_tool, wire_name="appeared")
    tool_id = eventually(lambda: found(alice), seconds=5, what="finding the new tool")[0]

    from registry.models import Tool

    tool = Tool.objects.get(pk=tool_id)
    tool.title = tool.description = "Send a postcard"
    tool.export_name = "postcard"
    elsewhere(tool_publish, tool, author=None)
    eventually(lambda: not found(alice), seconds=5, what="forgetting the old words")
    eventually(lambda: found(alice, "send a postcard"), seconds=5, what="finding the new words")

    elsewhere(tool_review, tool, status=ReviewStatus.QUARANTINED)
    assert found(alice, "send a postcard") == []
    elsewhere(tool_review, tool, status=ReviewStatus.APPROVED)
    elsewhere(tool_delete, tool)
    assert found(alice, "send a postcard") == []


def elsewhere(act, *args, **kwargs):
    """Do something on another database connection, as another process would."""

    def run():
        try:
            with transaction.atomic():
                act(*args, **kwargs)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
