"""Try one prompt with an agent: find tools and ask the model as a chat does, but run no tool.

Searches for tools are answered for real; the first call of any other tool is written down and ends
the trial, so nothing is sent, changed or paid but the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from django.conf import settings

from agents.access import agent_context
from agents.models import Agent
from chat.answers import Answer
from chat.asking import Asking
from chat.calls import parsed
from chat.errors import StepLimitReached
from chat.injection import Toolbox
from chat.intent import extract_intent
from chat.llm import TextDelta, ToolCallReady, Usage
from chat.loop import assistant_message, tool_message
from chat.models import Conversation, Turn
from chat.prompt import system_prompt
from chat.steps import Step
from chat.threads import in_thread
from config.lib.errors import DomainError
from config.lib.types import JsonObject
from registry.context import CallContext
from registry.errors import ToolError
from registry.finding import SEARCH_TOOLS
from registry.models.invocation import Caller
from registry.schemas import validate_arguments

MOST_STEPS = 5
"""Model calls of one trial: a model that has searched so often has lost its way."""


class _Unkept:
    """Keeps no step: a trial leaves nothing behind."""

    async def keep(self, step: Step) -> None:
        """Let it go."""


@dataclass(kw_only=True)
class Tried:
    """What the model did: the first tool that it called, or its words."""

    called: str = ""
    arguments: JsonObject | None = None
    problem: str = ""
    offered: frozenset[str] = frozenset()
    searches: int = 0
    answer: str = ""
    usage: Usage | None = None
    error: JsonObject | None = None
    duration_ms: int = 0


async def tried(agent: Agent, prompt: str, model: str) -> Tried:
    """Ask `model` as the agent; what goes wrong with it is told in `error`."""
    outcome = Tried()
    started = monotonic()
    try:
        await _try(outcome, agent, prompt, model)
    except DomainError as error:
        outcome.error = error.as_dict()
    outcome.duration_ms = round((monotonic() - started) * 1000)
    return outcome


async def _try(outcome: Tried, agent: Agent, prompt: str, model: str) -> None:
    toolbox, context = await in_thread(_equipped, agent, prompt, model)
    system = system_prompt(
        agent,
        toolbox.linked,
        deferred=toolbox.deferred,
        may_search=toolbox.may_search,
        may_run_code=toolbox.code is not None,
    )
    messages: list[JsonObject] = [
        {"role": "system", "content": system},
        {"role": "user", "content": prompt},
    ]
    asking = _asking(agent, model)
    for _ in range(MOST_STEPS):
        words, calls = await _asked(outcome, asking, messages, toolbox)
        real = next((call for call in calls if call.name != SEARCH_TOOLS), None)
        if real is not None:
            await in_thread(_judge, outcome, real, toolbox, context)
            return
        if not calls:
            outcome.answer = words
            return
        outcome.searches += len(calls)
        messages.append(assistant_message(words, calls))
        for call in calls:
            messages.append(tool_message(call.id, await _searched(call, toolbox)))
    raise StepLimitReached(f"The model searched {MOST_STEPS} times and called no tool.")


def _equipped(agent: Agent, prompt: str, model: str) -> tuple[Toolbox, CallContext]:
    context = agent_context(agent, agent.owner, caller=Caller.CHAT)
    conversation = Conversation(user=agent.owner, agent=agent)
    # never saved: a trial leaves nothing behind
    toolbox = Toolbox(Turn(conversation=conversation, number=1, model=model), context)
    toolbox.discover(extract_intent(prompt), ())
    return toolbox, context


def _asking(agent: Agent, model: str) -> Asking:
    """Return what asks the model as a turn does; another one than the agent's has no stand-in."""
    own = agent.model or settings.OUTFITTER_MODEL
    models = [model, *agent.fallback_models] if model == own else [model]
    return Asking(models, agent.tool_protocol, _Unkept())


async def _asked(
    outcome: Tried, asking: Asking, messages: Sequence[JsonObject], toolbox: Toolbox
) -> tuple[str, list[ToolCallReady]]:
    schemas = await in_thread(toolbox.schemas)
    outcome.offered |= {schema["function"]["name"] for schema in schemas}
    words: list[str] = []
    calls: list[ToolCallReady] = []
    async for event in asking(messages, schemas, answer_only=False):
        match event:
            case TextDelta(text):
                words.append(text)
            case ToolCallReady():
                calls.append(event)
            case Usage():
                outcome.usage = event if outcome.usage is None else outcome.usage + event
    return "".join(words), calls


async def _searched(call: ToolCallReady, toolbox: Toolbox) -> str:
    arguments, problem = parsed(call.arguments)
    if problem:
        return problem.message
    answer = await toolbox.call(SEARCH_TOOLS, arguments, lambda note: None)
    return answer.for_model() if isinstance(answer, Answer) else ""


def _judge(outcome: Tried, call: ToolCallReady, toolbox: Toolbox, context: CallContext) -> None:
    """Write down a call and whether its arguments fit, with what the agent always sends."""
    outcome.called = call.name
    arguments, problem = parsed(call.arguments)
    outcome.arguments = arguments
    try:
        if problem:
            raise problem
        code = toolbox.code
        spec = code if code and call.name == code.wire_name else toolbox.toolset.named(call.name)
        presets = context.presets(spec.tool_id)
        validate_arguments(spec.input_schema, {**arguments, **presets})
    except ToolError as refused:
        outcome.problem = refused.message
