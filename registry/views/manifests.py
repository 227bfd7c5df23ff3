"""A page to paste a package.json into: what would come of it, and what is wrong."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from config.lib.htmx import render_page
from config.lib.http import SignedInRequest
from registry.forms import ManifestForm
from registry.manifest.declared import DeclaredTool
from registry.manifest.example import EXAMPLE
from registry.manifest.findings import Problem
from registry.manifest.jsonfile import NotJson
from registry.manifest.judging import Judgement, judge_text
from registry.views.display import Parameter, parameters_of, pretty

GENERATIONS = {
    "current": "the current one",
    "earlier": "the earlier one, with “exportName”",
    "legacy": "the older shape of a single tool",
}


@dataclass(frozen=True, kw_only=True)
class ToldProblem:
    """A problem beside the line that it is about."""

    problem: Problem
    line: int
    excerpt: str


@dataclass(frozen=True, kw_only=True)
class ToldTool:
    """A tool that would come of the manifest; `parameters` is None where they are not told."""

    tool: DeclaredTool
    name: str
    category: str
    parameters: list[Parameter] | None
    schema: str
    output_schema: str
    arguments: str


@login_required
@require_http_methods(["GET", "POST"])
def manifest_validate(request: SignedInRequest) -> HttpResponse:
    """Judge what was pasted; with `?example=1` an example."""
    if request.method == "POST":
        form = ManifestForm(request.POST, label_suffix="")
        return _page(request, form)
    if "example" in request.GET:
        return _page(request, ManifestForm({"manifest": EXAMPLE}, label_suffix=""))
    return _shown(request, ManifestForm(label_suffix=""), {})


def _page(request: SignedInRequest, form: ManifestForm) -> HttpResponse:
    if not form.is_valid():
        return _shown(request, form, {"refused": form.errors["manifest"][0]}, status=422)
    try:
        judged = judge_text(form.cleaned_data["manifest"])
    except NotJson as error:
        return _shown(request, form, {"error": error, "refused": error.message}, status=422)
    return _shown(request, form, _told(judged))


def _told(judged: Judgement) -> dict[str, Any]:
    problems = [_problem(judged, item) for item in judged.problems]
    return {
        "judged": judged,
        "manifest": judged.manifest,
        "generation": GENERATIONS.get(judged.manifest.generation, ""),
        "problems": problems,
        "errors": sum(item.problem.severity == "error" for item in problems),
        "advice": [_problem(judged, item) for item in judged.advice],
        "tools": [_tool(judged, tool) for tool in judged.manifest.tools],
    }


def _problem(judged: Judgement, item: Problem) -> ToldProblem:
    return ToldProblem(problem=item, line=judged.line_of(item), excerpt=judged.excerpt_of(item))


def _tool(judged: Judgement, tool: DeclaredTool) -> ToldTool:
    schema, check = tool.input_schema, tool.health_check
    usable = schema is not None and tool.path in judged.usable
    return ToldTool(
        tool=tool,
        name=judged.name_of(tool),
        category=tool.category or judged.manifest.category,
        parameters=parameters_of(schema) if schema is not None and usable else None,
        schema=pretty(schema) if schema is not None else "",
        output_schema=pretty(tool.output_schema) if tool.output_schema is not None else "",
        arguments=pretty(check.arguments) if check and check.is_harmless else "",
    )


def _shown(
    request: SignedInRequest, form: ManifestForm, told: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    return render_page(
        request,
        "registry/manifest_validate.html",
        {"form": form, **told},
        fragment="registry/_manifest_judged.html",
        status=status,
    )
