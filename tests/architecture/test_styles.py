"""The stylesheets do not undo one another: they are all loaded on every page."""

import re
from collections import defaultdict

from tests.architecture.source import ROOT

BARE = re.compile(r"^  (\.[\w-]+)(?:,| \{)$", re.MULTILINE)
"""A class that a rule of a layer is for, by itself."""


def test_a_class_is_laid_out_in_one_stylesheet_only() -> None:
    """A second file that takes the same name changes pages that it knows nothing of."""
    files: dict[str, set[str]] = defaultdict(set)
    for sheet in sorted((ROOT / "static/css").glob("*.css")):
        for name in BARE.findall(sheet.read_text()):
            files[name].add(sheet.name)
    assert len(files) > 100
    assert {name: found for name, found in files.items() if len(found) > 1} == {}
