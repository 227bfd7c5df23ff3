"""Read what an installed Python package says of itself, believing nothing of its shape.

A manifest is `{name, version, description, keywords, homepage, requires, modules, entries,
outfitter}`: `entries` is where its tools are, as `[{module, attribute}]`, and `outfitter` is the
content of the package's own `outfitter.json`, where it has one.
"""

import configparser
import json
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import MB
from registry.sandbox.service.wire import Violation, clean_text, parse_json

ENTRY = "entry.json"
OWN = "outfitter.json"
GROUP = "outfitter.tools"
MAX_FILE_BYTES = MB
MAX_WORDS = 20_000
SIDE_FOLDERS = frozenset({"tests", "test", "docs", "doc", "examples", "benchmarks", "scripts"})

Manifest = dict[str, Any]


def installed_manifest(site: Path, name: str) -> Manifest:
    """Return the manifest of the distribution `name` in a site folder."""
    folder = _distribution(site, name)
    metadata = HeaderParser().parsestr(_text(site, folder / "METADATA"))
    modules = _modules(site, folder)
    entries = _entry_points(site, folder) or _main_module(modules, name)
    return {
        "name": _word(metadata, "Name") or name,
        "version": _word(metadata, "Version"),
        "description": _word(metadata, "Summary"),
        "keywords": _word(metadata, "Keywords").replace(",", " ").split(),
        "homepage": _word(metadata, "Home-page"),
        "requires": [clean_text(str(line)) for line in metadata.get_all("Requires-Dist", [])][:200],
        "modules": modules,
        "entries": entries,
        "outfitter": _own(site, entries),
    }


def write_entry(folder: Path, manifest: Manifest) -> None:
    """Tell the guest where to look for tools."""
    text = json.dumps({"entries": manifest["entries"]})
    (folder / ENTRY).write_text(text, encoding="utf-8")


def read_own(folder: Path, path: Path) -> Manifest:
    """Return the content of an `outfitter.json`; one that cannot be read counts as absent."""
    try:
        found = parse_json(_text(folder, path).encode())
    except Violation:
        return {}
    return found if isinstance(found, dict) else {}


def _distribution(site: Path, name: str) -> Path:
    wanted = canonicalize_name(name)
    for folder in site.glob("*.dist-info"):
        if canonicalize_name(folder.name.split("-")[0]) == wanted:
            return folder
    message = f"{name} was installed, but nothing of that name is there."
    raise ServiceError("build_failed", message, "Tell the package's author.")


def _text(site: Path, path: Path) -> str:
    """Read a plain file of the build; an absent one is empty."""
    real = path.resolve()
    if not real.is_relative_to(site.resolve()) or not real.is_file():
        return ""
    if real.stat().st_size > MAX_FILE_BYTES:
        return ""
    return real.read_text(encoding="utf-8", errors="replace")


def _word(metadata: Message, name: str) -> str:
    return clean_text(str(metadata.get(name) or ""))[:MAX_WORDS].strip()


def _modules(site: Path, folder: Path) -> list[str]:
    """Return the top-level modules that a distribution installed."""
    listed = _text(site, folder / "top_level.txt").split()
    if not listed:
        lines = _text(site, folder / "RECORD").splitlines()
        listed = [line.rpartition(",")[0].rpartition(",")[0] for line in lines]
        listed = [path for path in listed if path.endswith((".py", ".so", ".pyi"))]
    names = dict.fromkeys(path.split("/")[0].split(".")[0] for path in listed)
    return [name for name in names if name.isidentifier()][:100]


def _entry_points(site: Path, folder: Path) -> list[dict[str, str]]:
    parser = configparser.RawConfigParser(delimiters=("=",), strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(_text(site, folder / "entry_points.txt"))
    except configparser.Error:
        return []
    if not parser.has_section(GROUP):
        return []
    found = []
    for _, place in parser.items(GROUP):
        module, _, attribute = place.partition("[")[0].strip().partition(":")
        found.append({"module": module.strip(), "attribute": attribute.strip()})
    return found


def _main_module(modules: list[str], name: str) -> list[dict[str, str]]:
    """Return the module that a package is known by."""
    wanted = canonicalize_name(name).replace("-", "")
    public = [m for m in modules if not m.startswith("_") and m.lower() not in SIDE_FOLDERS]
    named = [m for m in public if m.replace("_", "").lower() == wanted]
    within = [m for m in public if m.replace("_", "").lower() in wanted]
    chosen = (named or within or public)[:1]
    return [{"module": module, "attribute": ""} for module in chosen]


def _own(site: Path, entries: list[dict[str, str]]) -> Manifest:
    for entry in entries:
        found = read_own(site, site / entry["module"].split(".")[0] / OWN)
        if found:
            return found
    return {}
