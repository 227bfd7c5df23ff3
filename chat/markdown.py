"""A model's Markdown as HTML that can do no harm: whole, or while it is being written.

While it is written, the blocks that are finished are rendered once; only the block at its end,
which the next word may still change, is rendered again. So a word costs what its block takes,
however long the answer is.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import nh3
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.token import Token

from config.lib.types import JsonObject

_BLOCKS = "blockquote br h1 h2 h3 h4 h5 h6 hr li ol p pre table tbody td th thead tr ul"
_TAGS = frozenset(f"{_BLOCKS} a b code del em i s strong".split())
"""No images: an address in one could carry off what was said, without anybody's click."""

_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "code": {"class"}}

_MARKS = re.compile(r"\n(`+|~+)$")

LONG = 1_000
"""Characters from which a list or a fence is shown in pieces while it is written."""


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def markdown(text: str) -> SafeString:
    """Return Markdown as HTML that can do no harm."""
    return _rendered(text, {})


@dataclass
class Growing:
    """Markdown that is still being written; `rest` is what is not settled."""

    rest: str = ""
    _taken: int = 0
    _known: dict[str, Any] = field(default_factory=dict)
    """The link definitions of what is settled."""

    def grow(self, text: str) -> str:
        """Take in the text as it is by now; return the HTML of the blocks that are finished by it.

        What is put before `open_html()` on the page. A definition of a link that comes behind its
        use is not seen; nor is that a list or a fence in pieces is one: `markdown` of the whole
        puts both right at the end.
        """
        self.rest += text[self._taken :].replace("\r\n", "\n").replace("\r", "\n")
        self._taken = len(text)
        # a line may mean something else until it ends, as `#` does before `#1`
        whole = self.rest[: self.rest.rfind("\n") + 1]
        blocks = [t for t in self._parsed(whole) if t.level == 0 and t.map and t.nesting >= 0]
        if not blocks:
            return ""
        last = blocks[-1]
        line, again = last.map[0] if last.map else 0, ""
        if len(whole) - _offset(whole, line) > LONG:
            line, again = self._cut(whole, last, line)
        at = _offset(whole, line)
        done, self.rest = whole[:at], again + self.rest[at:]
        return _rendered(done, self._known)

    def open_html(self) -> SafeString:
        """Return the HTML of the block that is being written."""
        # marks alone on the last line most often close a fence: as words they would only flicker
        return _rendered(_MARKS.sub("\n", self.rest), self._copied())

    def _parsed(self, text: str) -> list[Token]:
        parser = _parser()
        # inline content is the dear part, and where blocks begin does not depend on it
        tokens: list[Token] = []
        parser.block.parse(text, parser, self._copied(), tokens)
        return tokens

    def _copied(self) -> dict[str, Any]:
        return {"references": dict(self._known.get("references", {}))}

    def _cut(self, text: str, block: Token, line: int) -> tuple[int, str]:
        """Return where a long block may be cut, and what the second piece begins with."""
        end = block.map[1] if block.map else line
        if block.type == "fence":
            # all but its last line: that one may be what closes it
            head = text.splitlines(keepends=True)[line]
            return (
                (end - 1, head)
                if end - 1 > line + 1 and head.startswith(block.markup)
                else (line, "")
            )
        if block.type in {"bullet_list_open", "ordered_list_open"}:
            items = [
                token.map[0]
                for token in self._parsed(text)
                if token.type == "list_item_open" and token.level == 1 and token.map
            ]
            return max([line, *(item for item in items if item > line)]), ""
        return line, ""


def _offset(text: str, line: int) -> int:
    """Return where a line begins, counted from 0."""
    at = 0
    for _ in range(line):
        at = text.index("\n", at) + 1
    return at


def _rendered(text: str, known: JsonObject) -> SafeString:
    html = nh3.clean(
        _parser().render(text, known),
        tags=set(_TAGS),
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return SafeString(html)
