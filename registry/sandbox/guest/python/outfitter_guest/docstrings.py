"""Read docstrings in the three common styles: Google, NumPy and Sphinx."""

import inspect
import re
from dataclasses import dataclass, field

SECTIONS = (
    *("args", "arguments", "parameters", "params", "other parameters", "keyword args"),
    *("keyword arguments", "returns", "return", "yields", "raises", "example", "examples"),
    *("note", "notes", "attributes", "see also", "references", "warnings", "todo"),
)
PARAMETER_SECTIONS = frozenset(SECTIONS[:7])

_GOOGLE = re.compile(r"^(\*{0,2}\w+)\s*(?:\(([^)]*)\))?\s*:\s*(.*)$")
_NUMPY = re.compile(r"^(\*{0,2}\w+(?:\s*,\s*\w+)*)\s*(?::\s*(.*))?$")
_SPHINX = re.compile(r"^:(\w+)\s*([^:]*):\s*(.*)$")


@dataclass(slots=True)
class Docstring:
    """The description, and of each parameter its words and its type as they are written."""

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Docstring:
    """Read a docstring; what is in no known form is description."""
    found = Docstring()
    lines = inspect.cleandoc(text or "").splitlines()
    description: list[str] = []
    index = 0
    while index < len(lines):
        section, skip = _section(lines, index)
        if section:
            index += skip
            block, index = _block(lines, index, numpy=skip > 1)
            if section in PARAMETER_SECTIONS:
                _read_parameters(found, block, numpy=skip > 1)
        elif match := _SPHINX.match(lines[index]):
            index = _read_sphinx(found, match, lines, index)
        else:
            description.append(lines[index])
            index += 1
    found.description = "\n".join(description).strip()
    return found


def _section(lines: list[str], index: int) -> tuple[str, int]:
    """Return the section that begins at a line, and how many lines its heading takes."""
    line = lines[index]
    name = line.rstrip().removesuffix(":").lower()
    if name not in SECTIONS or line[:1].isspace():
        return "", 0
    if index + 1 < len(lines) and re.fullmatch(r"-{3,}|={3,}", lines[index + 1].strip()):
        return name, 2
    return (name, 1) if line.rstrip().endswith(":") else ("", 0)


def _block(lines: list[str], index: int, *, numpy: bool) -> tuple[list[str], int]:
    """Return the lines of a section and where it ends."""
    start = index
    while index < len(lines):
        line = lines[index]
        if _section(lines, index)[0] or (not numpy and line and not line[0].isspace()):
            break
        index += 1
    return lines[start:index], index


def _read_parameters(found: Docstring, block: list[str], *, numpy: bool) -> None:
    form = _NUMPY if numpy else _GOOGLE
    indent = min((_indent(line) for line in block if line.strip()), default=0)
    names: list[str] = []
    for line in block:
        match = form.match(line.strip()) if _indent(line) == indent and line.strip() else None
        if match is None:
            for name in names:
                found.parameters[name] = f"{found.parameters[name]} {line.strip()}".strip()
            continue
        names = [name.strip().lstrip("*") for name in match[1].split(",")]
        for name in names:
            found.parameters[name] = "" if numpy else match[3]
            if match[2]:
                found.types[name] = match[2].split(",")[0].strip()


def _read_sphinx(found: Docstring, match: re.Match[str], lines: list[str], index: int) -> int:
    words = [match[3]]
    index += 1
    while index < len(lines) and lines[index][:1].isspace() and lines[index].strip():
        words.append(lines[index].strip())
        index += 1
    parts = match[2].split()
    if match[1] in ("param", "parameter", "arg", "argument", "key") and parts:
        found.parameters[parts[-1]] = " ".join(words).strip()
        if len(parts) > 1:
            found.types[parts[-1]] = " ".join(parts[:-1])
    elif match[1] == "type" and parts:
        found.types[parts[-1]] = words[0].strip()
    return index


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
