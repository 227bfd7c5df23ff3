"""Which export a declared tool is bound to."""

from registry.importing.described import title_of
from registry.importing.matching import match_tools
from registry.manifest import DeclaredTool
from registry.sandbox.contract import ToolDescription


def declared(*names):
    return [DeclaredTool(export=name) for name in names]


def exported(*names, aliases=()):
    return [
        ToolDescription(
            export=name, aliases=tuple(aliases), description="", input_schema={"type": "object"}
        )
        for name in names
    ]


def bound(matches):
    return {
        match.declared.export: match.exported.export if match.exported else None
        for match in matches
        if match.declared
    }


def test_equal_names_match_without_a_word():
    matches = match_tools(declared("a", "b"), exported("b", "a"))

    assert bound(matches) == {"a": "a", "b": "b"}
    assert [match.drift for match in matches] == ["", ""]


def test_an_alias_is_a_name_too():
    (match,) = match_tools(declared("default"), exported("scrape", aliases=["default"]))

    assert (match.export, match.drift) == ("scrape", "")


def test_a_near_name_is_told_and_held_back_but_not_bound():
    matches = match_tools(declared("recipeHash", "other"), exported("recipeHashTool", "other"))

    assert bound(matches) == {"recipeHash": None, "other": "other"}
    assert len(matches) == 2
    assert matches[0].candidates == ("recipeHashTool",)
    assert "declared as “recipeHash”, but exported as “recipeHashTool”" in matches[0].drift


def test_a_person_decides_which_export_is_meant():
    matches = match_tools(
        declared("recipeHash"), exported("recipeHashTool"), {"recipeHash": "recipeHashTool"}
    )

    assert bound(matches) == {"recipeHash": "recipeHashTool"}
    assert matches[0].drift == ""


def test_an_export_that_came_back_under_its_own_name_wins_over_the_decision():
    matches = match_tools(declared("a"), exported("a", "aTool"), {"a": "aTool"})

    assert bound(matches) == {"a": "a"}


def test_an_export_that_another_tool_claims_is_never_taken():
    matches = match_tools(declared("scrape", "scrapeTool"), exported("scrapeTool"))

    assert bound(matches) == {"scrape": None, "scrapeTool": "scrapeTool"}


def test_several_near_names_are_told_and_none_is_guessed():
    matches = match_tools(declared("searchNews"), exported("searchNew", "searchNewz"))

    assert bound(matches) == {"searchNews": None}
    assert "Several exports have a similar name" in matches[0].drift


def test_one_declared_and_one_exported_tool_can_only_mean_each_other():
    matches = match_tools(declared("alpha"), exported("omega"))

    assert bound(matches) == {"alpha": None}
    assert matches[0].candidates == ("omega",)


def test_a_name_that_is_like_none_stays_unbound_and_exports_are_added():
    matches = match_tools(declared("alpha"), exported("first", "second"))

    assert bound(matches) == {"alpha": None}
    assert [match.export for match in matches if not match.declared] == ["first", "second"]


def test_titles_are_made_of_export_names():
    titles = {
        "htmlToMarkdownTool": "Html to markdown",
        "parseURL": "Parse URL",
        "tool": "Tool",
        "tools.search": "Tools search",
        "$": "$",
    }
    assert {name: title_of(name) for name in titles} == titles
