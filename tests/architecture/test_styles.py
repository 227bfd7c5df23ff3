"""The stylesheets do not undo one another: they are all loaded on every page."""

import re
from collections import defaultdict

from tests.architecture.source import ROOT

CRUMBS = re.compile(r'<nav class="crumbs".*?</nav>', re.DOTALL)
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


def test_breadcrumbs_are_parted_by_the_templates_alone() -> None:
    """A stroke from a stylesheet would stand beside the one that most templates write."""
    sheets = "".join(sheet.read_text() for sheet in (ROOT / "static/css").glob("*.css"))
    assert not re.search(r"\.crumbs[^{]*::(?:before|after)", sheets)
    templates = [path.read_text() for path in (ROOT / "templates").rglob("*.html")]
    trails = [trail for text in templates for trail in CRUMBS.findall(text)]
    assert len(trails) > 20
    assert [trail for trail in trails if re.search(r"</a>\s*(?:{% if[^%]*%})?<a", trail)] == []
