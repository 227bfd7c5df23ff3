"""Write the documents of templates: short names for what their steps say."""

from typing import Any

from config.lib.types import JsonObject, JsonSchema
from sequences.documents import FORMAT, VERSION

Source = JsonObject


def given(key: str) -> Source:
    """Return an input of the sequence as a source."""
    return {"source": "initialInput", "key": key}


def fixed(value: Any) -> Source:
    """Return a fixed value as a source."""
    return {"source": "static", "value": value}


def out(step: str, path: str = "") -> Source:
    """Return what an earlier step gave as a source; `path` is JMESPath."""
    return {"source": "previousStep", "step": step, "path": path}


def template(text: str) -> Source:
    """Return a text with expressions in it as a source."""
    return {"source": "template", "value": text}


def worked_out(expression: str) -> Source:
    """Return what a JMESPath expression over everything gives as a source."""
    return {"source": "expression", "value": expression}


def item(path: str = "") -> Source:
    """Return the item of the step's loop as a source."""
    return {"source": "item", "path": path}


def call(tool: str, store: str, inputs: dict[str, Source], **more: Any) -> JsonObject:
    """Return a step that calls a built-in tool and keeps its output as `store`."""
    return {
        "key": store,
        "toolToRunId": tool,
        "inputMapping": inputs,
        "storeOutputAs": store,
        **more,
    }


def ask(store: str, question: str, message: str, **more: Any) -> JsonObject:
    """Return a step that asks a person; `when`, `schema` and `onRejected` go to their places."""
    approval: JsonObject = {"title": question, "message": message}
    if "schema" in more:
        approval["inputSchema"] = more.pop("schema")
    if "onRejected" in more:
        approval["onRejected"] = more.pop("onRejected")
    return {"key": store, "storeOutputAs": store, "approval": approval, **more}


def beside(branch: str, group: str = "together") -> JsonObject:
    """Return the place of a step in a block of branches."""
    return {"group": group, "branch": branch}


def each(items: Source, parallel: int = 4) -> JsonObject:
    """Return the loop of a step."""
    return {"items": items, "parallel": parallel}


def fields(*optional: str, **properties: JsonSchema) -> JsonSchema:
    """Return the schema of inputs; all are required but the named ones."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def text(description: str, **more: Any) -> JsonSchema:
    """Return the schema of a text."""
    return {"type": "string", "description": description, **more}


def long_text(description: str) -> JsonSchema:
    """Return the schema of a text of several lines."""
    return text(description, contentMediaType="text/plain")


def document(
    name: str,
    description: str,
    inputs: JsonSchema,
    steps: list[JsonObject],
    final: dict[str, Source],
    sample: JsonObject,
) -> JsonObject:
    """Return the document of a template; its steps are numbered in their order."""
    names = sorted({step["toolToRunId"] for step in steps if "toolToRunId" in step})
    return {
        "outfitter": FORMAT,
        "format": VERSION,
        "name": name,
        "description": description,
        "inputSchema": inputs,
        "definition": {
            "format": 1,
            "steps": [{"stepNumber": n, **step} for n, step in enumerate(steps, 1)],
            "finalOutputMapping": final,
        },
        "tools": [
            {
                "id": tool,
                "wireName": tool,
                "kind": "builtin",
                "package": {"ecosystem": "builtin", "name": "outfitter"},
                "export": tool,
            }
            for tool in names
        ],
        "samples": [{"name": "Example", "input": sample}],
    }
