"""Which commands a Python package installs: its console scripts."""

import configparser
import re
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

GROUP = "console_scripts"
MAX_FILE_BYTES = 1 << 20
_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", re.ASCII)


def python_commands(site: Path, package: str) -> dict[str, str]:
    """Return the commands of an installed package by name, each as `module:function`."""
    wanted = canonicalize_name(Requirement(package).name)
    for folder in site.glob("*.dist-info"):
        if canonicalize_name(folder.name.split("-")[0]) == wanted:
            return _console_scripts(site, folder / "entry_points.txt")
    return {}


def _console_scripts(site: Path, path: Path) -> dict[str, str]:
    real = path.resolve()
    inside = real.is_relative_to(site.resolve()) and real.is_file()
    if not inside or real.stat().st_size > MAX_FILE_BYTES:
        return {}
    parser = configparser.RawConfigParser(delimiters=("=",), strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(real.read_text(encoding="utf-8", errors="replace"))
    except configparser.Error:
        return {}
    if not parser.has_section(GROUP):
        return {}
    found = {name: place.partition("[")[0].strip() for name, place in parser.items(GROUP)}
    return {name: place for name, place in found.items() if _PLACE.fullmatch(place)}
