"""Search for a person: who finds what, with what score, and how fresh it is."""

import pytest

from registry.models.package import ReviewStatus
from registry.models.tool import Health, Visibility
from registry.search.facts import Narrowing
from registry.search.selection import COPY_AT_HAND, DUPLICATE, ENOUGH_OF_PACKAGE
from registry.search.service import AT_HAND, reset, search
from registry.services import package_review, tool_review
from tests.factories import make_builtin, make_package, make_sequence, make_team, make_tool

pytestmark = pytest.mark.django_db

NEED = "convert html to markdown"


def markdown_tool(**fields):
    values = {
        "export_name": "htmlToMarkdownTool",
        "title": "Html to markdown",
        "description": "Convert HTML to markdown. Supports headings, lists and links.",
    }
    return make_tool(**{**values, **fields})


TAKES_HTML = {"type": "object", "properties": {"html": {"type": "string"}}}
"""What makes a tool another one than a copy with no inputs."""


def several(count, **fields):
    """Return tools that fit as well as each other and are no copies."""
    return [
        markdown_tool(
            export_name=f"htmlToMarkdownTool{number}",
            input_schema={"type": "object", "properties": {f"in{number}": {"type": "string"}}},
            **fields,
        )
        for number in range(count)
    ]


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
    plain = markdown_tool(input_schema=TAKES_HTML)
    liked = markdown_tool(package=popular)

    assert found(alice)[:2] == [liked.pk, plain.pk]
    assert found(alice, "hello there") == []


def test_tools_that_a_person_may_not_see_are_not_told_at_all(alice, charlie, catalogue):
    mine = markdown_tool(owner=alice, visibility=Visibility.PRIVATE)
    shared = markdown_tool(
        input_schema=TAKES_HTML,
        owner=alice,
        visibility=Visibility.TEAM,
        team=make_team("their team", alice),
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
    monkeypatch.setattr("registry.search.replica.MOST_RANKED", 2)
    for _ in range(4):
        make_sequence(charlie, title=NEED, description=NEED)
    tool = markdown_tool()
    assert tool.pk in found(alice)


def test_what_is_unfit_or_at_hand_takes_no_place(alice, catalogue, monkeypatch):
    monkeypatch.setattr("registry.search.replica.MOST_RANKED", 2)
    tool = markdown_tool(title="Markdown", description="Makes markdown of a page.")
    linked = frozenset(markdown_tool().pk for _ in range(3))
    for _ in range(4):
        markdown_tool(execution_health=Health.BROKEN)
    told = reasons(alice, exclude=linked)

    assert told[tool.pk] == ""
    assert set(told.values()) >= {"", "broken"} or "already at hand" in told.values()


def test_what_is_left_out_is_told_with_the_reason(alice, catalogue):
    broken = markdown_tool(execution_health=Health.BROKEN)
    linked = markdown_tool()
    scoped = markdown_tool(required_scopes=["files:write"])
    told = reasons(alice, exclude=frozenset({linked.pk}), scopes=frozenset())

    assert told[broken.pk] == "broken"
    assert told[linked.pk] == "already at hand"
    assert told[scoped.pk] == "requires the scope files:write"


def test_no_more_than_the_limit_is_injected(alice, catalogue):
    several(4)
    answer = search(NEED, user=alice, limit=2)

    assert len(answer.found) == 2
    assert "enough tools found already" in {hit.reason for hit in answer.hits}


@pytest.mark.parametrize(
    ("narrowing", "expected"),
    [
        ({"kind": "npm"}, {"imported"}),
        ({"kind": "sequence"}, {"made"}),
        ({"category": "prose"}, {"imported"}),
        ({"package": "@acme/text"}, {"imported"}),
        ({"health": "broken"}, {"made"}),
        ({"health": "unwell", "kind": "npm"}, set()),
        ({"category": "no such category"}, set()),
        ({}, {"imported", "made"}),
    ],
)
def test_a_search_is_narrowed_before_it_ranks(alice, catalogue, narrowing, expected):
    markdown_tool(wire_name="imported", category="prose", package=make_package(name="@acme/text"))
    make_sequence(
        alice,
        wire_name="made",
        title=NEED,
        description=NEED,
        category="web",
        execution_health=Health.BROKEN,
    )
    answer = search(NEED, user=alice, narrowing=Narrowing(**narrowing))
    found = {hit.wire_name for hit in answer.hits}
    assert found & {"imported", "made"} == expected
    assert not narrowing or found == expected


def test_a_need_in_a_models_words_finds_what_the_message_does_not_name(alice, catalogue):
    tool = markdown_tool()
    assert tool.pk not in found(alice, "and now this one")
    assert found(alice, "and now this one", queries=[NEED])[0] == tool.pk


def test_all_that_fits_is_counted_and_only_what_is_given_is_looked_at(alice, catalogue):
    several(40)
    answer = search(NEED, user=alice, limit=2)
    assert len(answer.found) == 2 and answer.total >= 40
    assert len(answer.hits) == 12


def test_copies_of_one_tool_take_one_place_and_are_told_with_it(alice, catalogue):
    liked = make_package(downloads=10_000)
    worse, better = markdown_tool(), markdown_tool(package=liked)
    other = markdown_tool(input_schema=TAKES_HTML)
    answer = search(NEED, user=alice, limit=2)

    assert {hit.tool_id for hit in answer.found} == {better.pk, other.pk}
    given = next(hit for hit in answer.found if hit.tool_id == better.pk)
    assert given.duplicates == ((worse.pk, worse.wire_name),)
    assert {hit.tool_id: hit.reason for hit in answer.hits}[worse.pk] == DUPLICATE
    assert answer.total >= 3


def test_a_persons_own_copy_is_preferred(alice, charlie, catalogue):
    liked = markdown_tool(package=make_package(downloads=10_000))
    own = markdown_tool(owner=alice)
    assert found(alice, limit=1) == [own.pk]
    assert found(charlie, limit=1) == [liked.pk]
    assert liked.pk not in found(alice)


def test_a_copy_of_a_tool_at_hand_is_not_given(alice, catalogue):
    linked, copy = markdown_tool(), markdown_tool(package=make_package(downloads=10_000))
    other = markdown_tool(input_schema=TAKES_HTML)
    assert found(alice, limit=1, at_hand=frozenset({linked.pk})) == [other.pk]
    assert copy.pk not in found(alice, at_hand=frozenset({linked.pk}))
    told = reasons(alice, at_hand=frozenset({linked.pk}))
    assert told[linked.pk] == AT_HAND
    assert told[copy.pk] == COPY_AT_HAND


def test_a_tool_at_hand_that_does_not_work_hides_no_copy(alice, catalogue):
    broken, copy = markdown_tool(import_health=Health.BROKEN), markdown_tool()
    assert found(alice, limit=1, at_hand=frozenset({broken.pk})) == [copy.pk]


def test_a_tool_that_is_only_excluded_hides_no_copy(alice, catalogue):
    denied, copy = markdown_tool(), markdown_tool()
    assert found(alice, limit=1, exclude=frozenset({denied.pk})) == [copy.pk]


def test_a_copy_that_a_person_may_not_use_is_never_told(alice, charlie, catalogue):
    shown = markdown_tool()
    private = markdown_tool(owner=alice, visibility=Visibility.PRIVATE)
    stopped = markdown_tool(review_status=ReviewStatus.QUARANTINED)
    told = search(NEED, user=charlie).hits

    assert shown.pk in {hit.tool_id for hit in told if hit.injected}
    assert not [hit for hit in told if hit.duplicates]
    assert not {private.pk, stopped.pk} & {hit.tool_id for hit in told}


@pytest.mark.parametrize(
    "unfit", [{"execution_health": Health.BROKEN}, {"required_scopes": ["files:write"]}]
)
def test_a_copy_that_does_not_help_hides_none_that_does(alice, catalogue, unfit):
    markdown_tool(package=make_package(downloads=10_000_000), **unfit)
    working = markdown_tool()
    answer = search(NEED, user=alice, scopes=frozenset())
    assert answer.found[0].tool_id == working.pk
    assert answer.found[0].duplicates == ()


def test_one_package_leaves_places_to_others_unless_it_is_named(alice, catalogue):
    many = several(5, package=make_package(name="@acme/proseworks", downloads=10_000_000))
    others = [
        markdown_tool(title=f"Html to markdown {each}", description=f"Convert HTML in {each}.")
        for each in ("lists", "tables")
    ]
    told = reasons(alice)
    assert {tool.pk for tool in others} <= {pk for pk, reason in told.items() if not reason}
    assert [told[tool.pk] for tool in many].count(ENOUGH_OF_PACKAGE) == 2
    named = found(alice, f"{NEED} with proseworks")
    assert set(named) == {tool.pk for tool in many}


def test_a_listing_has_every_copy(client_for, alice, catalogue):
    tools = [markdown_tool() for _ in range(3)]
    page = client_for(alice).get("/api/v1/tools/", {"q": NEED}).json()
    assert {str(tool.pk) for tool in tools} <= {tool["id"] for tool in page["results"]}
