"""Read what a package says of its tools: the `tpmjs` field of its package.json.

Several generations are out there, and many packages are a little wrong. Whatever can be read is
read; whatever cannot is told. Nothing in a manifest raises.
"""

import re

from config.lib.host_patterns import parse_host_pattern
from config.lib.jsontext import storable
from config.lib.types import JsonObject, JsonValue
from registry.manifest.declared import DeclaredTool, Manifest
from registry.manifest.findings import Findings, inside, kind_of, meant, quoted
from registry.manifest.items import items_of, texts_of
from registry.manifest.jsonfile import is_too_deep
from registry.manifest.shapes import Authentication, FieldShape, Legacy, Variable
from registry.manifest.tools import LONGEST_LABEL, LONGEST_TEXT, read_category, read_tool
from registry.manifest.vocabulary import CATEGORIES, FIELD, FRAMEWORKS

MOST_TOOLS = 200
MOST_FRAMEWORKS = 20
MOST_VARIABLES = 50
MOST_HOSTS = 50
ENV_NAME = re.compile(r"^[A-Z_][A-Z0-9_]{0,99}$")
ENV_ENTRY = 'an object: {"name": "API_KEY", "description": "…", "required": true}'

_OF_ONE_TOOL = {"description", "parameters", "returns", "aiAgent", "exportName", "healthCheck"}


def read_manifest(package_json: JsonValue) -> Manifest:
    """Read a package.json; a package without the `tpmjs` field declares no tools."""
    findings = Findings()
    declared = None
    if is_too_deep(package_json):
        findings.add("", "It is nested too deeply to be read.")
    elif not isinstance(package_json, dict):
        findings.add("", f"It is {kind_of(package_json)}. Write an object, as in a package.json.")
    else:
        declared = package_json.get(FIELD)
    if declared is None:
        return Manifest(findings=tuple(findings.problems))
    return read_field(declared, FIELD, findings)


def read_field(declared: JsonValue, path: str, findings: Findings | None = None) -> Manifest:
    """Read the field itself, which stands at `path` of its document."""
    findings = findings or Findings()
    if is_too_deep(declared):
        findings.add(path, "It is nested too deeply to be read.")
    elif not isinstance(declared, dict):
        findings.add(path, f'It is {kind_of(declared)}. Write an object: {{"tools": […]}}.')
    else:
        return _Reader(path, findings).read(storable(declared))
    return Manifest(findings=tuple(findings.problems))


class _Reader:
    """Reads one manifest."""

    def __init__(self, path: str, findings: Findings) -> None:
        self._path = path
        self._findings = findings

    def read(self, declared: JsonObject) -> Manifest:
        is_legacy = "tools" not in declared and bool(_OF_ONE_TOOL & declared.keys())
        shape = self._findings.fit(Legacy if is_legacy else FieldShape, declared, self._path)
        category = read_category(shape.category, self._at("category"), self._findings)
        tools = self._legacy(shape) if isinstance(shape, Legacy) else self._tools(shape)
        self._tell_missing(declared, any(tool.category for tool in tools) or bool(category))
        return Manifest(
            tools=tools,
            category=category,
            frameworks=self._frameworks(shape),
            env=self._env(shape),
            hosts=self._hosts(shape),
            generation=self._generation(declared, is_legacy),
            findings=tuple(self._findings.problems),
        )

    def _tell_missing(self, declared: JsonObject, has_category: bool) -> None:
        if not declared:
            write = '{"category": "…", "tools": [{"name": "…"}]}'
            self._findings.add(self._path, f"It is empty. Write {write}.")
            return
        if not has_category and not declared.get("category"):
            told = "It is missing, so the tools are harder to find. Write one of"
            self._findings.advise(self._at("category"), f"{told}: {', '.join(CATEGORIES)}.")
        if declared.get("tools") in (None, []) and not _OF_ONE_TOOL & declared.keys():
            write = '[{"name": "scrapeTool", "description": "…"}]'
            told = "None is declared, so what the package exports decides. Write a list:"
            self._findings.advise(self._at("tools"), f"{told} {write}.")

    def _at(self, key: str) -> str:
        return inside(self._path, key)

    def _generation(self, declared: JsonObject, is_legacy: bool) -> str:
        if is_legacy:
            return "legacy"
        tools = declared.get("tools")
        listed = tools if isinstance(tools, list) else []
        earlier = any(isinstance(tool, dict) and "exportName" in tool for tool in listed)
        return "earlier" if earlier else "current"

    def _legacy(self, shape: Legacy) -> tuple[DeclaredTool, ...]:
        """Return the one tool that the legacy shape declares, called `default` if need be."""
        fitting = shape.model_dump(by_alias=True, exclude_unset=True)
        moved = {name: fitting[name] for name in sorted(_OF_ONE_TOOL & fitting.keys())}
        told = ", ".join(moved) or "its fields"
        self._findings.advise(
            self._path,
            f"This is the older shape of a single tool, and is read as such. Move {told} into "
            '"tools": [{"name": "default", …}].',
        )
        if shape.example and "aiAgent" not in moved:
            moved["aiAgent"] = {"examples": [shape.example]}
        tool = read_tool({"name": "default", **moved}, self._path, self._findings)
        return (tool,) if tool else ()

    def _tools(self, shape: FieldShape) -> tuple[DeclaredTool, ...]:
        listed = shape.tools or []
        found: dict[str, DeclaredTool] = {}
        for index, item in enumerate(listed[:MOST_TOOLS]):
            path = inside(self._at("tools"), index)
            tool = read_tool(item, path, self._findings)
            if tool is not None and tool.export in found:
                told = f"“{tool.export}” is declared twice; the first one counts."
                self._findings.add(path, f"{told} Take one of them out.")
            elif tool is not None:
                found[tool.export] = tool
        if len(listed) > MOST_TOOLS:
            told = f"Only the first {MOST_TOOLS} tools are read. Make it several packages."
            self._findings.add(self._at("tools"), told)
        return tuple(found.values())

    def _env(self, shape: FieldShape) -> tuple[JsonObject, ...]:
        path = self._at("env")
        items = items_of(shape.env, path, self._findings, text_is="description", write=ENV_ENTRY)
        if isinstance(shape, Legacy) and shape.authentication is not None:
            where = self._at("authentication")
            asked = self._findings.fit(Authentication, shape.authentication, where)
            if asked.envVar:
                items.append(({"name": asked.envVar, "required": asked.required}, where))
        found: dict[str, JsonObject] = {}
        if len(items) > MOST_VARIABLES:
            self._findings.add(path, f"Only the first {MOST_VARIABLES} variables are read.")
        for item, where in items[:MOST_VARIABLES]:
            variable = self._findings.fit(Variable, item, where)
            if not variable.name:
                self._findings.missing(inside(where, "name"), 'a name such as "SCRAPER_API_KEY"')
            elif not ENV_NAME.fullmatch(variable.name):
                self._findings.add(inside(where, "name"), _bad_name(variable.name))
            elif variable.name in found:
                told = f"“{variable.name}” stands twice; the first one counts."
                self._findings.warn(inside(where, "name"), told)
            else:
                found[variable.name] = {
                    "name": variable.name,
                    "description": variable.description.strip()[:LONGEST_TEXT],
                    # One with a default of its own is not asked of anybody.
                    "required": variable.required and variable.default is None,
                }
        return tuple(found.values())

    def _frameworks(self, shape: FieldShape) -> tuple[str, ...]:
        path = self._at("frameworks")
        write = f"one of {', '.join(FRAMEWORKS)}"
        for index, name in enumerate(shape.frameworks[:MOST_FRAMEWORKS]):
            if isinstance(name, str) and name.strip() and name.strip() not in FRAMEWORKS:
                told = f"“{quoted(name)}” is not known. Write {write}.{meant(name, FRAMEWORKS)}"
                self._findings.warn(inside(path, index), told)
        if len(shape.frameworks) > MOST_FRAMEWORKS:
            self._findings.add(path, f"Only the first {MOST_FRAMEWORKS} are read.")
        listed = shape.frameworks[:MOST_FRAMEWORKS]
        found = texts_of(listed, path, self._findings, write=write)
        return tuple(dict.fromkeys(name[:LONGEST_LABEL] for name in found))

    def _hosts(self, shape: FieldShape) -> tuple[str, ...]:
        path = self._at("hosts")
        found: dict[str, None] = {}
        if len(shape.hosts) > MOST_HOSTS:
            self._findings.add(path, f"Only the first {MOST_HOSTS} hosts are read.")
        for index, host in enumerate(shape.hosts[:MOST_HOSTS]):
            if not isinstance(host, str):
                told = f"It is {kind_of(host)}. Write host, host:port or *.host."
                self._findings.add(inside(path, index), told)
                continue
            try:
                found[str(parse_host_pattern(host))] = None
            except ValueError as error:
                told = f"{error} Write host, host:port or *.host."
                self._findings.add(inside(path, index), told)
        return tuple(found)


def _bad_name(name: str) -> str:
    better = re.sub(r"[^A-Z0-9_]", "_", name.strip().upper())[:100]
    write = f" Write “{better}”." if ENV_NAME.fullmatch(better) else ""
    return f"A variable's name is made of A–Z, 0–9 and _, so “{quoted(name)}” is left out.{write}"
