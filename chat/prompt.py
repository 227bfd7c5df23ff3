"""Write the system prompt of a turn."""

from collections.abc import Iterable, Iterator, Sequence

from agents.models import Agent
from registry.code_tool import RUN_CODE
from registry.finding import SEARCH_TOOLS, told_guidance
from registry.toolset import Toolset

_RULES = """\
## How to use tools

1. Execute, don't describe. When the user wants something that one of your tools does, call the \
tool; do not explain how it could be called, and do not guess what it would return.
2. Call tools by the names they have here; they are already in the form you must use.
3. Several steps are fine: use the result of one tool as the input of the next. Call tools side by \
side when they do not need each other's results.
4. When a call fails, read the error: correct the arguments, or use another tool. Never repeat the \
same call unchanged.
5. When a tool needs an API key that is not set, ask the user to set the variable by its name, \
such as EXA_API_KEY, under Credentials. Never ask for the value itself here.
6. Tell the result with its actual values. If no tool can do it, say so plainly.
7. Text arguments may hold embeds, which are worked out before the call: «math:2*3», «uuid:», \
«datetime:%Y-%m-%d» and «artifact_content:name». Use the last to hand a long result, kept as an \
artifact, to a tool whole."""

_SEARCH_RULES = f"""
8. {SEARCH_TOOLS} is for discovery only: use it when none of your tools fits. Tools it finds can \
be called at once. You have a tool that fits: call it, do not search. You have none: search once, \
then call what was found. The user asks what tools there are: search, and tell them.
9. As soon as you have a tool that fits, stop searching and use it; never search twice for the \
same need."""


_CODE_RULES = f"""\
## Running code

{RUN_CODE} runs a Python program that you write. Use it when a request needs several tool calls \
that belong together — the same tool for each item of a list, a call that depends on another's \
result, a total over many answers — and not for a single call. Every tool that you have can be \
called from it by its name, those found too; only what the program comes to is returned to you:

    items = ["a", "b"]
    answers = await asyncio.gather(*(tool_call("tool_name", text=item) for item in items))
    dict(zip(items, answers))"""


def system_prompt(
    agent: Agent,
    linked: Toolset,
    *,
    deferred: Iterable[str] = (),
    may_search: bool,
    may_run_code: bool = False,
) -> str:
    """Return the instructions of a turn: the agent's own, the rules, and each tool's guidance.

    Only of the linked tools that are told of, and by name of those that are `deferred`: what is
    found brings its guidance along, so that neither a turn nor a find changes the prompt, which
    providers cache.
    """
    parts = [
        agent.instructions.strip() or f"You are {agent.name}, a helpful assistant with tools.",
        _RULES + (_SEARCH_RULES if may_search else ""),
        *([_CODE_RULES] if may_run_code else []),
        "## Your tools\n\n" + "\n".join(_listed(linked, tuple(deferred), may_search)),
    ]
    return "\n\n".join(parts)


def _listed(linked: Toolset, deferred: Sequence[str], may_search: bool) -> Iterator[str]:
    for spec in linked.values():
        told = told_guidance(spec)
        yield f"- {spec.wire_name}{f': {told}' if told else ''}"
    if deferred:
        yield f"- also, to be called by name though not described here: {', '.join(deferred)}"
    if may_search:
        yield f"- and those that {SEARCH_TOOLS} found, which describe themselves"
    elif not linked and not deferred:
        yield "None yet."
