"""Copies of one tool are found among others; tools that differ in what matters stay apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.search.folding import Described, folded


def tool(name, description="", package="", *parameters):
    return Described(name=name, description=description, package=package, parameters=parameters)


SCRAPE = "Fetch a web page and return its text as Markdown."
TWINS = {
    "one tool in two packages": (
        tool("scrape_page", SCRAPE, "webkit", "url"),
        tool("scrape_page", SCRAPE, "browserbase", "url"),
    ),
    "written in another case": (
        tool("scrapePage", SCRAPE, "a", "url", "maxLength"),
        tool("scrape-page", SCRAPE, "b", "max_length", "url"),
    ),
    "named after its package": (
        tool("github_create_issue", "Create an issue in a repository.", "github", "title"),
        tool("create_issue", "Create an issue in a repository.", "octo-tools", "title"),
    ),
    "called a tool": (tool("htmlToMarkdownTool", SCRAPE, "", "html"),
                      tool("html_to_markdown", SCRAPE, "", "html")),
    "a fork that says it a little differently": (
        tool("scrape_page", SCRAPE, "a", "url"),
        tool("scrape_page", "Fetch a web page and return the text as Markdown.", "b", "url"),
    ),
    "without any description": (tool("now"), tool("now")),
}  # fmt: skip
APART = {
    "one and many": (
        tool("get_user", "Return a user.", "crm", "id"),
        tool("get_users", "Return users.", "crm", "id"),
    ),
    "opposites": (
        tool("base64_encode", "Encode text as Base64.", "", "text"),
        tool("base64_decode", "Decode Base64 to text.", "", "text"),
    ),
    "other inputs": (
        tool("search", "Search the web.", "v1", "query"),
        tool("search", "Search the web.", "v2", "query", "page"),
    ),
    "another target": (
        tool("create_issue", "Create an issue in a GitHub repository.", "github", "title"),
        tool("create_issue", "File a ticket with the support desk of Zendesk.", "zendesk", "title"),
    ),
    "versions in the name": (
        tool("translate_v1", "Translate a text.", "", "text"),
        tool("translate_v2", "Translate a text.", "", "text"),
    ),
    "one lazy description": (
        tool("lockDoors", "This tool belongs to the car.", "car"),
        tool("startEngine", "This tool belongs to the car.", "car"),
    ),
    "a name that is its package's alone": (
        tool("github", "Do things.", "github"),
        tool("gitlab", "Do things.", "gitlab"),
    ),
}


@pytest.mark.parametrize("pair", TWINS.values(), ids=TWINS)
def test_copies_of_a_tool_are_folded(pair):
    assert folded(pair) == [0, 0]
    assert folded(pair[::-1]) == [0, 0]


@pytest.mark.parametrize("pair", APART.values(), ids=APART)
def test_tools_that_differ_in_what_matters_stay_apart(pair):
    assert folded(pair) == [0, 1]
    assert folded(pair[::-1]) == [0, 1]


names = st.sampled_from(["get_user", "getUser", "get_users", "", "🙂", "a" * 99])
texts = st.sampled_from(["", "Return a user.", "Return the user.", "\0", "Delete it all at once."])


@given(st.lists(st.builds(Described, name=names, description=texts, package=texts), max_size=12))
def test_each_tool_stands_for_itself_or_for_what_came_before(tools):
    places = folded(tools)
    assert len(places) == len(tools)
    assert all(first <= place for place, first in enumerate(places))
    assert all(places[first] == first for first in places)
