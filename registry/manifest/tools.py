"""Read one tool of a manifest."""

from typing import Any

from config.lib.types import JsonObject, JsonValue
from registry.manifest.declared import DeclaredCheck, DeclaredTool
from registry.manifest.findings import Findings, inside, kind_of, meant, quoted
from registry.manifest.items import texts_of
from registry.manifest.parameters import input_schema_of, output_schema_of
from registry.manifest.shapes import Cleanup, Guidance, HealthCheck, ToolShape
from registry.manifest.vocabulary import ALIASES, CATEGORIES, category_of

LONGEST_EXPORT = 128
LONGEST_LABEL = 64
LONGEST_TEXT = 500
SHORT_DESCRIPTION = 20
LONG_DESCRIPTION = 500
MOST_CLEANUPS = 5

_OTHER_NAMES_OF_ARGUMENTS = ("arguments", "input", "params")


def read_tool(item: JsonValue, path: str, findings: Findings) -> DeclaredTool | None:
    """Return the tool that an entry declares, or None where it has no usable name."""
    if not isinstance(item, dict):
        write = '{"name": "scrapeTool", "description": "…"}'
        findings.add(path, f"It is {kind_of(item)}. Write an object: {write}.")
        return None
    shape = findings.fit(ToolShape, item, path)
    export = (shape.export_name or shape.name).strip()
    where = inside(path, "exportName" if shape.export_name.strip() else "name")
    if not export:
        findings.missing(where, 'the name of the export, such as "scrapeTool"')
        return None
    if len(export) > LONGEST_EXPORT:
        findings.add(where, f"It is longer than {LONGEST_EXPORT} characters. Write a shorter one.")
        return None
    if shape.export_name and shape.name and shape.name != shape.export_name != "default":
        told = f"“name” and “exportName” differ; “{export}” is taken. Write only “name”."
        findings.warn(inside(path, "name"), told)
    _judge_description(shape.description, inside(path, "description"), findings)
    return DeclaredTool(
        export=export,
        description=shape.description.strip(),
        category=read_category(shape.category, inside(path, "category"), findings),
        input_schema=input_schema_of(shape.parameters, inside(path, "parameters"), findings),
        output_schema=output_schema_of(shape.returns, inside(path, "returns"), findings),
        ai_agent=_guidance(shape.ai_agent, inside(path, "aiAgent"), findings),
        health_check=_check(shape.health_check, inside(path, "healthCheck"), findings),
        path=path,
    )


def read_category(text: str, path: str, findings: Findings) -> str:
    """Return the category in its one spelling; one that is not known is told and kept."""
    text = text.strip()
    if not text:
        return ""
    known = category_of(text)
    if known is None:
        near = meant(text.lower(), [*CATEGORIES, *ALIASES])
        told = f"“{quoted(text)}” is not a category. Write one of: {', '.join(CATEGORIES)}.{near}"
        findings.add(path, told)
        return text[:LONGEST_LABEL]
    if text != known and text not in ALIASES:
        findings.warn(path, f"It is read as “{known}”. Write that.")
    return known


def _judge_description(text: str, path: str, findings: Findings) -> None:
    length = len(text.strip())
    if not length:
        findings.missing(path, "what the tool does, in a sentence", "warning")
    elif length < SHORT_DESCRIPTION:
        told = f"It has only {length} characters. Models choose a tool by it: say what it does,"
        findings.advise(path, f"{told} with what, and what comes back.")
    elif length > LONG_DESCRIPTION:
        told = f"It has {length} characters, which every model reads again and again. Write up to"
        findings.advise(path, f"{told} {LONG_DESCRIPTION}, and the rest into aiAgent.")


def _guidance(guidance: JsonObject | None, path: str, findings: Findings) -> JsonObject:
    """Return `{useCase, limitations, examples}`, each only where it is told."""
    if not guidance:
        return {}
    shape = findings.fit(Guidance, guidance, path)
    limits, examples = shape.limitations, shape.examples
    listed = [examples] if isinstance(examples, str) else examples
    told = texts_of(listed, inside(path, "examples"), findings, write="a text") if examples else []
    read: JsonObject = {
        "useCase": shape.useCase.strip(),
        "limitations": (limits if isinstance(limits, str) else "; ".join(limits)).strip(),
        "examples": told,
    }
    return {key: value for key, value in read.items() if value}


def _check(declared: Any, path: str, findings: Findings) -> DeclaredCheck | None:
    """Return how the tool can be tried; `false` says that it must not be."""
    if declared is None or declared is True:
        return None
    if declared is False:
        return DeclaredCheck(skip=True)
    declared = _with_test_params(declared, path, findings)
    shape = findings.fit(HealthCheck, declared, path)
    if shape.skipExecution and shape.testParams is not None:
        told = "It is skipped, so testParams are never used. Take one of the two out."
        findings.add(inside(path, "testParams"), told)
    if shape.cleanup and shape.testParams is not None:
        told = "A check that has to be cleaned up changes something, so it is not called here."
        findings.advise(inside(path, "cleanup"), told)
    return DeclaredCheck(
        arguments=shape.testParams,
        skip=shape.skipExecution,
        cleanup=_cleanup(shape.cleanup, inside(path, "cleanup"), findings),
    )


def _with_test_params(declared: JsonObject, path: str, findings: Findings) -> JsonObject:
    """Take the arguments under another name where `testParams` is missing."""
    others = [name for name in _OTHER_NAMES_OF_ARGUMENTS if name in declared]
    if "testParams" in declared or not others:
        return declared
    findings.warn(inside(path, others[0]), "It is read as the arguments. Write “testParams”.")
    kept = {key: value for key, value in declared.items() if key != others[0]}
    return {**kept, "testParams": declared[others[0]]}


def _cleanup(steps: list[Any], path: str, findings: Findings) -> tuple[JsonObject, ...]:
    if len(steps) > MOST_CLEANUPS:
        findings.add(path, f"It has {len(steps)} steps. Write at most {MOST_CLEANUPS}.")
    found = []
    for index, step in enumerate(steps[:MOST_CLEANUPS]):
        where = inside(path, index)
        if not isinstance(step, dict):
            findings.add(where, f'It is {kind_of(step)}. Write {{"tool": "…", "params": {{}}}}.')
            continue
        shape = findings.fit(Cleanup, step, where)
        if not shape.tool:
            findings.missing(inside(where, "tool"), "the name of another tool of this package")
        found.append(step)
    return tuple(found)
