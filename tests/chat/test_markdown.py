"""Markdown that grows: settled block by block, the same HTML as when it is rendered whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.markdown import LONG, Growing, markdown

BLOCKS = (
    "# A title\n\n",
    "Words *and* **more**,\non two lines.\n\n",
    "- one\n- two\n\n  still two\n- [three](https://example.org)\n\n",
    "1. first\n2. second\n\n",
    "```py\nx = '# no title'\n\n- no list\n```\n",
    "| a | b |\n|---|---|\n| 1 | `2` |\n\n",
    "> said\n> by somebody\n\n",
    "Over a rule\n\n***\n",
    "#1 is no title\n```a`b` is no fence\n***bold***\n\n",
    "A title\n===\n",
    "<script>alert(1)</script>\n\n",
    "    code by its indent\n\n",
    "ends in the middle of *a wo",
)

documents = st.lists(st.sampled_from(BLOCKS), max_size=12).map("".join)
texts = st.text(alphabet="ab #*`->|1.=_~\n\t", max_size=80)


def grown(text: str, sizes: list[int]) -> tuple[str, list[str]]:
    """Return the HTML that a page has in the end, and what was shown after each piece."""
    growing, settled, shown, at, place = Growing(), "", [], 0, 0
    while at < len(text):
        at += sizes[place % len(sizes)]
        place += 1
        settled += growing.grow(text[:at])
        shown.append(settled + growing.open_html())
    return settled + growing.open_html(), shown


@given(documents | texts, st.lists(st.integers(1, 20), min_size=1, max_size=5))
def test_what_grew_looks_at_every_moment_like_what_is_rendered_whole(
    text: str, sizes: list[int]
) -> None:
    text = text[:LONG] + "\n"
    html, _ = grown(text, sizes)
    assert html == markdown(text)


@pytest.mark.parametrize(
    "text",
    ["a paragraph\n\n" * 400, "- an item of a list\n" * 400, "```py\n" + "x = 1\n" * 800 + "```\n"],
    ids=["paragraphs", "list", "fence"],
)
def test_what_is_sent_for_a_piece_does_not_grow_with_the_answer(text: str) -> None:
    growing, sent = Growing(), []
    for at in range(10, len(text) + 10, 10):
        sent.append(len(growing.grow(text[:at])) + len(growing.open_html()))
    assert max(sent) < 6 * LONG
    assert sum(sent[-20:]) < 20 * 6 * LONG


def test_a_fence_in_pieces_loses_no_line() -> None:
    lines = [f"line_{number} = {number}" for number in range(300)]
    html, _ = grown("```py\n" + "\n".join(lines) + "\n```\n\nThat is all.", [9])
    assert all(line in html for line in lines)
    assert "```" not in html
    assert html.endswith("<p>That is all.</p>\n")


def test_a_link_that_was_defined_before_is_one() -> None:
    html, _ = grown("[a]: https://example.org\n\nSee [a].\n\nAnd [a] again.\n\nEnd", [4])
    assert html.count('href="https://example.org"') == 2


def test_no_moment_of_a_growing_text_can_do_harm() -> None:
    text = "Hi\n\n<img src=x onerror=alert(1)>\n\n[x](javascript:alert(1)) ![y](https://e.org/p)\n"
    _, shown = grown(text, [1])
    assert not any("<img" in html or "<script" in html or 'href="java' in html for html in shown)
