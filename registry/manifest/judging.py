"""Judge a manifest that a person wrote: what would come of it, and what is wrong at which line."""

import time
from dataclasses import dataclass, replace

from config.lib.jsontext import clean_text
from config.lib.types import JsonObject, JsonValue
from registry.errors import InvalidArguments, ToolUnavailable
from registry.manifest.declared import DeclaredTool, Manifest
from registry.manifest.findings import Findings, Problem, inside, kind_of
from registry.manifest.jsonfile import JsonFile, read_json
from registry.manifest.reading import read_field
from registry.manifest.vocabulary import FIELD
from registry.schemas import check_schema, validate_arguments
from registry.wire_names import wire_name

KEYWORDS = ("tpmjs", "tpmjs-tool")
SECONDS = 3.0
"""How long the schemas of one manifest are checked; real ones take milliseconds."""

LONGEST_NAME = 214
LONGEST_EXCERPT = 160
_MARKS = frozenset(
    {
        *("category", "tools", "env", "frameworks", "hosts", "parameters", "returns", "aiAgent"),
        *("exportName", "healthCheck"),
    }
)
_OF_A_PACKAGE = frozenset({"name", "version", "dependencies", "main", "exports", "scripts"})


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a manifest comes to; `package` is the name in the package.json, if it is one.

    `usable` holds the paths of the tools whose input schema was checked and found good.
    """

    manifest: Manifest
    usable: frozenset[str]
    package: str
    findings: tuple[Problem, ...]
    file: JsonFile
    source: tuple[str, ...]

    @property
    def is_valid(self) -> bool:
        """Tell whether all of it can be read as it is meant."""
        return not any(item.severity == "error" for item in self.findings)

    @property
    def problems(self) -> list[Problem]:
        """Return what is wrong, the errors first, each in the order of the lines."""
        told = [item for item in self.findings if item.severity != "advice"]
        return sorted(told, key=lambda item: (item.severity, self.line_of(item)))

    @property
    def advice(self) -> list[Problem]:
        """Return what would make the tools easier to find and to use."""
        told = [item for item in self.findings if item.severity == "advice"]
        return sorted(told, key=self.line_of)

    def line_of(self, problem: Problem) -> int:
        """Return the line that a problem is about, from 1."""
        return self.file.line_of(problem.path)

    def excerpt_of(self, problem: Problem) -> str:
        """Return the text of that line."""
        line = self.line_of(problem)
        text = self.source[line - 1] if line <= len(self.source) else ""
        return text.strip()[:LONGEST_EXCERPT]

    def name_of(self, tool: DeclaredTool) -> str:
        """Return what models would call the tool by."""
        return wire_name(self.package or None, tool.export, lambda _: False)


def judge_text(text: str) -> Judgement:
    """Judge a package.json, or just the field; raises NotJson where it is no JSON."""
    file = read_json(text)
    findings = Findings()
    for path in file.doubled:
        findings.add(path, "It stands twice; the last one counts. Take one of the two out.")
    declared, path, package = _field_of(file.value, findings)
    manifest = Manifest() if declared is None else read_field(declared, path, findings)
    usable = _usable_tools(manifest, findings)
    return Judgement(
        usable=usable,
        manifest=replace(manifest, findings=tuple(findings.problems)),
        package=package,
        findings=tuple(findings.problems),
        file=file,
        source=tuple(clean_text(text).splitlines()),
    )


def judgement_shape(judged: Judgement) -> JsonObject:
    """Return `{valid, tier, tools, problems, …}` as the REST API and the command tell it."""
    manifest = judged.manifest
    return {
        "valid": judged.is_valid,
        "tier": manifest.tier.value if manifest.generation else None,
        "tierBecause": list(manifest.rich_because),
        "generation": manifest.generation or None,
        "package": judged.package or None,
        "category": manifest.category,
        "frameworks": list(manifest.frameworks),
        "env": list(manifest.env),
        "hosts": list(manifest.hosts),
        "tools": [_tool_shape(judged, tool) for tool in manifest.tools],
        "problems": [_problem_shape(judged, item) for item in judged.problems],
        "advice": [_problem_shape(judged, item) for item in judged.advice],
    }


def _tool_shape(judged: Judgement, tool: DeclaredTool) -> JsonObject:
    check = tool.health_check
    return {
        "name": judged.name_of(tool),
        "exportName": tool.export,
        "description": tool.description,
        "category": tool.category or judged.manifest.category,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "aiAgent": tool.ai_agent,
        "healthCheck": check.arguments if check and check.is_harmless else None,
    }


def _problem_shape(judged: Judgement, problem: Problem) -> JsonObject:
    return {
        **problem.as_dict(),
        "severity": problem.severity,
        "line": judged.line_of(problem),
    }


def _field_of(value: JsonValue, findings: Findings) -> tuple[JsonValue, str, str]:
    """Return the field, its path in the document, and the package's name; None without a field."""
    write = f'a package.json with a “{FIELD}” field, or what stands in it: {{"tools": […]}}'
    if not isinstance(value, dict):
        findings.add("", f"It is {kind_of(value)}. Write {write}.")
        return None, "", ""
    if FIELD not in value:
        if not value or _MARKS & value.keys():
            return value, "", ""
        if _OF_A_PACKAGE & value.keys():
            write = f'"{FIELD}": {{"tools": [{{"name": "scrapeTool"}}]}}'
            findings.add(FIELD, f"It is missing, so the package declares no tools. Write {write}.")
        else:
            findings.add("", f"There is nothing of a manifest in it. Write {write}.")
        return None, "", ""
    keywords = value.get("keywords")
    if not isinstance(keywords, list) or not any(word in keywords for word in KEYWORDS):
        told = f"It lacks “{KEYWORDS[0]}”, by which catalogues find packages with tools. Add it."
        findings.advise("keywords", told)
    name = value.get("name")
    package = clean_text(name)[:LONGEST_NAME] if isinstance(name, str) else ""
    if value[FIELD] is None:
        findings.add(FIELD, 'It is null. Write an object: {"tools": […]}.')
    return value[FIELD], FIELD, package


def _usable_tools(manifest: Manifest, findings: Findings) -> frozenset[str]:
    """Check the tools' schemas, and the arguments of their health checks against them."""
    until = time.monotonic() + SECONDS
    usable = set()
    for tool in manifest.tools:
        if tool.input_schema is None:
            continue
        if time.monotonic() > until:
            findings.add(tool.path, "Its schema is not checked: those before it took too long.")
            break
        problems = check_schema(tool.input_schema)
        for problem in problems:
            where = f"{inside(tool.path, 'parameters')}{problem.path.removeprefix('$')}"
            findings.add(where, f"It is no usable schema: {problem.message}")
        if not problems:
            usable.add(tool.path)
            _check_arguments(tool, findings)
    return frozenset(usable)


def _check_arguments(tool: DeclaredTool, findings: Findings) -> None:
    check = tool.health_check
    if check is None or check.arguments is None or tool.input_schema is None:
        return
    path = inside(inside(tool.path, "healthCheck"), "testParams")
    try:
        validate_arguments(tool.input_schema, check.arguments)
    except InvalidArguments as error:
        for problem in error.extra.get("problems", [{"path": "$", "message": error.message}]):
            where = f"{path}{problem['path'].removeprefix('$')}"
            findings.add(where, f"It does not fit the parameters: {problem['message']}.")
    except ToolUnavailable as error:
        findings.add(path, error.message)
