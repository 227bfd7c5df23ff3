"""The page about weights names each of them as the code does."""

from registry.search.weights import BOUNDS, Weights
from tests.architecture.source import ROOT

PAGE = ROOT / "docs/how-to/search-weights.md"


def test_each_weight_is_documented_with_its_bounds() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().splitlines()
        if line.startswith("|") and line.count("`") == 2
    ]
    own = Weights().as_dict()
    assert rows == [
        [
            bound.group,
            f"`{name}`",
            bound.label,
            f"{own[name]:g}",
            f"{bound.least:g} to {bound.most:g}",
            bound.help,
        ]
        for name, bound in BOUNDS.items()
    ]
