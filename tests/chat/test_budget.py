"""What is told of a toolset: in a stable order, within a budget of tokens."""

from uuid import uuid4

import pytest

from chat.budget import tokens_of
from chat.llm import count_tokens
from chat.pictures import budget_segments, score_segments
from chat.visible import Origin, Shown, Visible
from registry.specs import ToolSpec
from registry.toolset import NameClash


def spec_of(name: str, **fields: object) -> ToolSpec:
    values = {
        "tool_id": uuid4(),
        "version": 1,
        "digest": name,
        "kind": "npm",
        "wire_name": name,
        "title": name,
        "description": "Does something.",
        "category": "",
        "input_schema": {},
        "output_schema": None,
        "ai_agent": {},
        "required_scopes": frozenset(),
        "timeout_seconds": 1,
        "export_name": name,
        "definition": None,
        "package": None,
        "env": (),
    }
    return ToolSpec(**{**values, **fields})


def shown(name: str, origin: Origin = Origin.LINKED, tokens: int = 100, used_in: int = 0) -> Shown:
    return Shown(spec=spec_of(name), origin=origin, tokens=tokens, used_in=used_in)


def names(tools) -> list[str]:
    return [each.spec.wire_name for each in tools]


def test_linked_tools_that_do_not_fit_are_deferred_and_smaller_ones_behind_them_are_not():
    visible = Visible(budget=500, fixed=200)
    visible, deferred = visible.linked([shown("a"), shown("b", tokens=250), shown("c")])
    assert names(visible.shown) == ["a", "c"]
    assert names(deferred) == ["b"]
    assert visible.spent == 400


def test_a_find_comes_last_and_the_least_recently_used_gives_way():
    kept = [
        shown("old", Origin.KEPT, used_in=3),
        shown("older", Origin.KEPT, used_in=1),
        shown("new", Origin.KEPT, used_in=5),
    ]
    visible, _ = Visible(budget=400).linked([shown("linked")])
    visible, gone = visible.kept(kept)
    assert not gone
    visible, gone = visible.plus(shown("find", Origin.FOUND, tokens=150, used_in=6))
    assert names(gone) == ["older", "old"]
    assert names(visible.shown) == ["linked", "new", "find"]
    assert visible.spent <= visible.budget


def test_what_this_turn_found_or_called_never_gives_way():
    kept = [shown("called", Origin.KEPT, used_in=2), shown("found", Origin.FOUND, used_in=6)]
    visible, _ = Visible(budget=200).kept(kept)
    visible = visible.used(frozenset([kept[0].spec.tool_id]), 6)
    assert visible.plus(shown("find", Origin.FOUND, used_in=6)) is None
    assert names(visible.shown) == ["called", "found"]


def test_linked_tools_never_give_way():
    visible, _ = Visible(budget=100).linked([shown("linked")])
    assert visible.plus(shown("find", Origin.FOUND, used_in=1)) is None


def test_when_the_budget_shrank_the_most_recently_used_stay_in_their_order():
    kept = [shown(n, Origin.KEPT, used_in=u) for n, u in (("a", 1), ("b", 9), ("c", 5))]
    visible, gone = Visible(budget=200).kept(kept)
    assert names(visible.shown) == ["b", "c"]
    assert names(gone) == ["a"]


def test_two_tools_of_one_name_are_not_told_of_together():
    visible, _ = Visible(budget=500).linked([shown("same")])
    with pytest.raises(NameClash):
        visible.plus(shown("same", Origin.FOUND, used_in=1))


def test_tokens_are_counted_by_the_models_tokenizer_with_what_guides():
    spec = spec_of("a", ai_agent={"useCase": "When there is a lot of text to be read " * 5})
    plain, guided = tokens_of("openai/gpt-4o", spec), tokens_of("openai/gpt-4o", spec, guided=True)
    assert 20 < plain < 60
    assert guided > plain + 20
    assert tokens_of("openai/gpt-4o", spec) == plain


def test_tokens_are_counted_for_models_whose_tokenizer_would_have_to_be_fetched(monkeypatch):
    monkeypatch.setattr("socket.getaddrinfo", lambda *args, **kwargs: pytest.fail("asked"))
    assert count_tokens("together_ai/meta-llama/Llama-3-70b", "one two three") == 3


def test_the_same_version_under_another_name_or_description_is_counted_anew():
    one = tokens_of("openai/gpt-4o", spec_of("a", digest="d"))
    other = tokens_of("openai/gpt-4o", spec_of("a", digest="d", description="Much longer. " * 20))
    assert other > one


def test_the_bar_of_the_budget_is_divided_by_why_tools_are_told_of():
    tokens = {"spent": 500, "budget": 1000, "fixed": 100, "linked": 300, "kept": 0, "found": 100}
    assert [(s.css, s.x, s.width) for s in budget_segments(tokens)] == [
        ("found-fixed", 0.0, 10.0),
        ("found-linked", 10.0, 30.0),
        ("found-new", 40.0, 10.0),
    ]
    full = budget_segments({"spent": 3000, "budget": 1000, "fixed": 3000})
    assert [s.width for s in full] == [100]
    assert budget_segments({}) == []


def test_the_bar_of_a_score_is_as_long_as_the_score():
    parts = {"text": 0.9, "coverage": 0.3, "limitations": -0.2, "factor": 1.1}
    segments = score_segments({"score": 0.6, "parts": parts})
    assert [(s.label, s.width) for s in segments] == [("text", 45.0), ("coverage", 15.0)]
    assert [s.width for s in score_segments({"score": 1.0, "parts": {}})] == [100]
    assert score_segments({"score": 0, "parts": parts}) == []
    assert score_segments({}) == []
