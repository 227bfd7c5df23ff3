"""Turn what a model proposes into the document of a sequence.

A model fills in a simple form: named steps in their order, each with a tool and where its inputs
come from. What it gets wrong is told in words that it can act on.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from config.lib.jsontext import storable
from config.lib.types import JsonObject, JsonSchema, JsonValue
from sequences.documents import FORMAT, VERSION, DocumentRefused, SequenceDocument, read_document
from sequences.mapping import MAX_EXPRESSION_LENGTH

PROPOSE = "propose_sequence"
MOST_STEPS = 20
TYPES = ("string", "number", "integer", "boolean", "array", "object")

_SOURCE: JsonSchema = {
    "type": "object",
    "description": "Where a value comes from; give exactly one of: input, step, value, template, "
    "expression, item.",
    "properties": {
        "input": {"type": "string", "description": "The name of one of the sequence's inputs."},
        "step": {"type": "string", "description": "The name of an earlier step."},
        "path": {
            "type": "string",
            "description": "With step: JMESPath into its output, such as text or rows[0].name; "
            "empty for all of it. See what the tool returns.",
        },
        "value": {"description": "A fixed value."},
        "template": {
            "type": "string",
            "description": "A text with {{ initial.input_name }} and {{ steps.step_name.key }}.",
        },
        "expression": {
            "type": "string",
            "maxLength": MAX_EXPRESSION_LENGTH,
            "description": "JMESPath over initial and steps that gives a value of any type.",
        },
        "item": {
            "type": "string",
            "description": "In a step with for_each: JMESPath into the item; empty for all of it.",
        },
    },
    "additionalProperties": False,
}


class ProposalInvalid(ValueError):
    """The proposal cannot be read; `problems` say why, in sentences."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        super().__init__(" ".join(self.problems))


def proposal_schema(tools: Iterable[str]) -> JsonSchema:
    """Return the schema of what a model proposes, with the tools that its steps may call."""
    step = {
        "type": "object",
        "properties": {
            "name": {
                "type": "string",
                "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$",
                "description": "Unique; later steps read its output by it.",
            },
            "title": {"type": "string", "maxLength": 120, "description": "What it does, short."},
            "tool": {"type": "string", "enum": list(tools)},
            "ask": {
                "type": "string",
                "description": "In place of a tool: what a person is asked before the run goes on. "
                "May hold {{ … }} as a template does.",
            },
            "inputs": {"type": "object", "additionalProperties": _SOURCE},
            "for_each": {**_SOURCE, "description": "The list that the step is repeated for."},
            "when": {
                "type": "string",
                "maxLength": 500,
                "description": "A condition in CEL over initial and steps, such as "
                "steps.counted.total > 3; where it is false the step is skipped.",
            },
            "on_failure": {"description": "The output to go on with if the step fails."},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    given = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$"},
            "type": {"type": "string", "enum": list(TYPES)},
            "description": {"type": "string"},
            "required": {"type": "boolean", "default": True},
        },
        "required": ["name", "type"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 80},
            "description": {"type": "string", "description": "What it does and when to use it."},
            "inputs": {"type": "array", "items": given, "maxItems": 30},
            "steps": {"type": "array", "items": step, "minItems": 1, "maxItems": MOST_STEPS},
            "output": {
                "type": "object",
                "additionalProperties": _SOURCE,
                "description": "What the sequence gives, by name.",
            },
            "made_of_it": {"type": "string", "description": "What you made of the words, short."},
            "left_open": {
                "type": "array",
                "items": {"type": "string"},
                "description": "What was asked for and is not in it: say it honestly.",
            },
        },
        "required": ["name", "description", "steps"],
        "additionalProperties": False,
    }


def document_of(proposal: JsonObject, tools: Mapping[str, JsonObject]) -> SequenceDocument:
    """Return the document that a proposal describes; it fits `proposal_schema`.

    `tools` are those that were offered, by wire name, each as a document names it. Raises
    ProposalInvalid.
    """
    problems: list[str] = []
    steps = list(_steps(proposal["steps"], problems))
    output = proposal.get("output") or _last(proposal["steps"])
    final = {name: _source(each, f"output {name}", problems) for name, each in output.items()}
    if problems:
        raise ProposalInvalid(problems)
    called = dict.fromkeys(step["toolToRunId"] for step in steps if "toolToRunId" in step)
    written: JsonValue = storable(
        {
            "outfitter": FORMAT,
            "format": VERSION,
            "name": proposal["name"],
            "description": proposal["description"],
            "inputSchema": _input_schema(proposal.get("inputs") or ()),
            "definition": {"format": 1, "steps": steps, "finalOutputMapping": final},
            "tools": [tools[name] for name in called if name in tools],
        }
    )
    try:
        return read_document(written)
    except DocumentRefused as error:
        raise ProposalInvalid([error.message]) from None


def _steps(proposed: Iterable[JsonObject], problems: list[str]) -> Iterator[JsonObject]:
    for number, said in enumerate(proposed, 1):
        name = said["name"]
        step: JsonObject = {"stepNumber": number, "key": name, "storeOutputAs": name}
        if title := said.get("title"):
            step["title"] = title
        if ("tool" in said) == ("ask" in said):
            problems.append(f"Step “{name}” needs either a tool or a question to ask.")
        elif "tool" in said:
            step["toolToRunId"] = said["tool"]
        else:
            step["approval"] = {"title": said.get("title") or "", "message": said["ask"]}
        step["inputMapping"] = {
            field: _source(source, f"step {name}, input {field}", problems)
            for field, source in (said.get("inputs") or {}).items()
        }
        if (items := said.get("for_each")) is not None:
            source = _source(items, f"step {name}, for_each", problems)
            step["forEach"] = {"items": source, "parallel": 4}
        if when := (said.get("when") or "").strip():
            step["when"] = when
        if "on_failure" in said:
            step["fallback"] = {"value": said["on_failure"]}
        yield step


def _source(said: Mapping[str, Any], place: str, problems: list[str]) -> JsonObject:
    given = [
        name
        for name in ("input", "step", "value", "template", "expression", "item")
        if name in said
    ]
    if len(given) != 1:
        problems.append(
            f"{place}: give exactly one of input, step, value, template, expression, item."
        )
        return {"source": "static", "value": None}
    match given[0]:
        case "input":
            return {"source": "initialInput", "key": said["input"]}
        case "step":
            return {"source": "previousStep", "step": said["step"], "path": said.get("path") or ""}
        case "value":
            return {"source": "static", "value": said["value"]}
        case "item":
            return {"source": "item", "path": said["item"]}
        case kind:
            return {"source": kind, "value": said[kind]}


def _last(proposed: list[JsonObject]) -> JsonObject:
    """Return the output where none is proposed: all of what the last step gives."""
    return {"result": {"step": proposed[-1]["name"]}}


def _input_schema(inputs: Iterable[JsonObject]) -> JsonSchema:
    listed = list(inputs)
    properties: JsonObject = {}
    for field in listed:
        told = field.get("description")
        properties[field["name"]] = {
            "type": field["type"],
            **({"description": told} if told else {}),
        }
    needed = dict.fromkeys(field["name"] for field in listed if field.get("required", True))
    return {
        "type": "object",
        "properties": properties,
        "required": list(needed),
        "additionalProperties": False,
    }
