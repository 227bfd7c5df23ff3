"""What changed between two versions of a tool: field by field, and what it does to callers."""

from registry.differences.display import DifferencesDisplay, display_of, sides_of_snapshots
from registry.differences.found import Difference, Effect, Kind, Part
from registry.differences.packages import package_differences
from registry.differences.snapshots import differences
from registry.differences.summary import Summary, summary_of

__all__ = [
    "Difference",
    "DifferencesDisplay",
    "Effect",
    "Kind",
    "Part",
    "Summary",
    "differences",
    "display_of",
    "package_differences",
    "sides_of_snapshots",
    "summary_of",
]
