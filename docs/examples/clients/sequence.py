"""Build a sequence by REST, run it, follow it, and answer what it asks (seed 5).

OUTFITTER_URL=… OUTFITTER_TOKEN=… python sequence.py
"""

import os

from outfitter_client import Outfitter


def main() -> None:
    """Make a tool of two others and a question to a person, and run it."""
    with Outfitter(os.environ["OUTFITTER_URL"], token=os.environ["OUTFITTER_TOKEN"]) as outfitter:
        tools = outfitter.discover()
        steps = [
            {
                "stepNumber": 1,
                "toolToRunId": tools["change_case"].id,
                "inputMapping": {
                    "text": {"source": "initialInput", "key": "text"},
                    "case": {"source": "static", "value": "upper"},
                },
                "outputDisplaySuccess": "It is {{ result.text }} now",
                "storeOutputAs": "shouted",
            },
            {
                "stepNumber": 2,
                "approval": {"title": "Go on?", "message": "{{ steps.shouted.text }}"},
                "storeOutputAs": "asked",
            },
            {
                "stepNumber": 3,
                "toolToRunId": tools["count_text"].id,
                "inputMapping": {
                    "text": {"source": "previousStep", "step": "shouted", "path": "text"},
                    "what": {"source": "static", "value": "words"},
                },
                "storeOutputAs": "counted",
            },
        ]
        made = {
            "type": "sequence",
            "name": "Shout and count",
            "description": "Writes a text in capitals and counts it.",
            "inputSchema": {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
            },
            "definition": {
                "format": 1,
                "steps": steps,
                "finalOutputMapping": {
                    "text": {"source": "previousStep", "step": "shouted", "path": "text"},
                    "words": {"source": "previousStep", "step": "counted", "path": "count"},
                },
            },
        }
        sequence = outfitter.request("POST", "tools/", json=made)
        print("made", sequence["name"])
        run = outfitter.run(sequence["name"], {"text": "salt and water"})
        for event in run.events():
            if event.name == "step":
                print(event.data["stepNumber"], event.data["status"], event.data["message"])
            if event.name == "run" and run.waits:
                for request in run.refresh().requests:
                    print("asked:", request["title"], request["message"])
                    run.answer(request, approved=True, note="Go on.")
        print(run.result())


if __name__ == "__main__":
    main()
