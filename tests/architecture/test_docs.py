"""The reference pages say all that the code has, and nothing else."""

import re
from collections.abc import Iterable
from importlib import import_module
from itertools import chain
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class
from django.urls import URLPattern, URLResolver, get_resolver

from agents.tokens import SCOPES
from config.lib.errors import DomainError
from config.readiness import KEYS_OF_PROVIDERS
from registry.builtins import BUILTINS
from registry.errors import Fault, ToolError
from registry.sandbox.service import python_index
from registry.sandbox.service.npm import CA_VARIABLES, PASSED_VARIABLES
from tests.architecture.source import (
    PACKAGES,
    ROOT,
    import_everything,
    source_files,
    subclasses_of,
)

READ_FROM_ENVIRONMENT = re.compile(
    r"""
    (?:environ\w*|\benv|\blowered) (?: \.(?:get|pop|setdefault)\(\s* | \[ ) "(\w+)" (?!\]\ =\ )
    | \b(?:flag|listed|networks)\( "(\w+)"
    | "(\w+)"\ (?:not\ )?in\ os\.environ
    """,
    re.VERBOSE,
)

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

WITHOUT_CLASS = {"run", "turn", "REST", "event"}
"""What stands in place of the phase of an error that is written where it happens."""


def rows(page: str) -> list[list[str]]:
    """Return the cells of every table row of a reference page that starts with code."""
    lines = (ROOT / "docs" / "reference" / page).read_text().splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("| `")
    ]


def named(page: str) -> list[str]:
    """Return the names in the first column of a page's tables."""
    return [name for row in rows(page) for name in re.findall(r"`([^`]+)`", row[0])]


def own_commands() -> list[str]:
    """Return the names of the product's own management commands."""
    return [name for name, app in get_commands().items() if app in PACKAGES]


def test_the_errors_are_listed_with_their_status_and_phase() -> None:
    import_everything()
    listed = {row[0].strip("`"): tuple(row[1:3]) for row in rows("errors.md")}
    without_class = {code for code, (_, place) in listed.items() if place in WITHOUT_CLASS}
    assert {code: listed[code] for code in listed.keys() - without_class} == {
        error.code: (str(int(error.status)), getattr(error, "phase", "–"))
        for error in subclasses_of(DomainError)
    }


def test_no_two_kinds_of_error_share_a_code() -> None:
    import_everything()
    codes = [error.code for error in set(subclasses_of(DomainError))]
    assert len(codes) == len(set(codes))


def test_an_error_that_says_something_of_the_tools_health_is_marked() -> None:
    import_everything()
    marked = {row[0].strip("`") for row in rows("errors.md") if "♥" in row[3]}
    errors = subclasses_of(ToolError)
    assert marked == {error.code for error in errors if error.health is not Fault.NONE}


def test_every_error_written_without_a_class_is_listed() -> None:
    codes = {
        code
        for path in source_files()
        if not {"sandbox", "importing"} & set(path.parts)  # JSON-RPC; problems of a report
        for code in re.findall(r'"code": "(\w+)"', path.read_text())
    }
    assert "worker_lost" in codes
    assert codes <= set(named("errors.md"))


def test_every_environment_variable_is_listed() -> None:
    found = {
        name
        for path in source_files()
        for names in READ_FROM_ENVIRONMENT.findall(path.read_text())
        for name in names
        if name
    }
    assert {"SECRET_KEY", "OUTFITTER_HTTPS", "NO_COLOR"} <= found
    keys: Iterable[str] = chain(*KEYS_OF_PROVIDERS.values())
    index = (python_index.CA_VARIABLES, python_index.PASSED_VARIABLES, python_index.READ_VARIABLES)
    known = {*found, *keys, *CA_VARIABLES, *PASSED_VARIABLES, *chain(*index)}
    assert set(named("settings.md")) == known


def test_every_built_in_tool_is_listed_with_its_category() -> None:
    listed = {row[0].strip("`"): row[1] for row in rows("builtins.md")}
    assert listed == {name: tool.category for name, tool in BUILTINS.items()}


def test_every_scope_is_listed() -> None:
    assert named("scopes.md") == list(SCOPES)


def test_the_api_asks_for_the_listed_scopes_and_no_others() -> None:
    asked: set[str] = set()
    waiting: list[URLPattern | URLResolver] = [*get_resolver().url_patterns]
    while waiting:
        pattern = waiting.pop()
        if isinstance(pattern, URLResolver):
            waiting.extend(pattern.url_patterns)
        else:
            view = getattr(pattern.callback, "cls", None)
            for needed in getattr(view, "required_scopes", {}).values():
                asked.update([needed] if isinstance(needed, str) else needed)
    assert asked == set(SCOPES)


def test_every_command_is_listed() -> None:
    assert sorted(named("commands.md")) == sorted(own_commands())


@pytest.mark.parametrize("name", own_commands())
def test_every_command_says_what_it_does(name: str) -> None:
    assert load_command_class(get_commands()[name], name).help
    assert import_module(f"{get_commands()[name]}.management.commands.{name}").__doc__


def anchors(page: Path) -> set[str]:
    """Return the anchors that the headings of a page have, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_of_a_page_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text())
    targets = [((page.parent / path) if path else page, anchor) for path, anchor in links]
    assert [str(path) for path, _ in targets if not path.exists()] == []
    assert [anchor for path, anchor in targets if anchor and anchor not in anchors(path)] == []


def test_every_how_to_is_in_their_list() -> None:
    folder = ROOT / "docs" / "how-to"
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (folder / "README.md").read_text()))
    assert listed == {page.name for page in folder.glob("*.md")} - {"README.md"}


def test_decisions_are_numbered_without_a_gap() -> None:
    names = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md"))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))
    for name in names:
        first = (ROOT / "docs" / "decisions" / name).read_text().splitlines()[0]
        assert first.startswith(f"# {int(name[:4])}. ")
