"""Sequences to start from, made of the tools that ship.

Each is a document as `sequences.documents` has it, with an input to try it with.
"""

from collections.abc import Mapping
from types import MappingProxyType

from sequences.documents import SequenceDocument, read_document
from sequences.template_library import data, planning, texts

TEMPLATES: Mapping[str, SequenceDocument] = MappingProxyType(
    {
        name: read_document(written)
        for name, written in {
            "clean-and-count": texts.CLEAN_AND_COUNT,
            "links-and-dates": texts.LINKS_AND_DATES,
            "tidy-names": texts.TIDY_NAMES,
            "beginning-of-a-text": texts.LONG_OR_SHORT,
            "read-a-code": texts.READ_A_CODE,
            "convert-measurements": data.CONVERT,
            "compare-documents": data.COMPARE,
            "keep-what-is-wrong": data.KEEP_WRONG,
            "add-up-a-column": data.ADD_UP,
            "deadlines": planning.DEADLINES,
            "time-for-everybody": planning.MEETING,
            "draw-winners": planning.DRAW,
        }.items()
    }
)
"""Every template by its name in addresses; read-only."""

__all__ = ["TEMPLATES"]
