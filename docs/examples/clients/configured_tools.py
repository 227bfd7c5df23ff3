"""Bring a tool that is made of its configuration, and call it with a key (seed 2).

OUTFITTER_URL=http://127.0.0.1:8000 OUTFITTER_TOKEN=… python configured_tools.py

The token is a reviewer's: what others upload waits for one.
"""

import json
import os
import time
from pathlib import Path

from outfitter_client import Outfitter, ToolFailed

CONFIG = {"language": "norwegian", "word": "Hei", "api_key": "${GREETER_KEY}"}


def main() -> None:
    """Upload `greeters.py` with its configuration; call its tool without and with the key."""
    with Outfitter(os.environ["OUTFITTER_URL"], token=os.environ["OUTFITTER_TOKEN"]) as outfitter:
        module = Path(__file__).with_name("greeters.py").read_bytes()
        settings = json.dumps({"tool_config": CONFIG})
        files = {"file": ("greeters.py", module), "settings": (None, settings)}
        job = outfitter.request("POST", "packages/upload/", files=files)
        while job["status"] not in {"succeeded", "failed"}:
            time.sleep(0.5)
            job = outfitter.request("GET", f"jobs/{job['id']}/")
        if job["error"]:
            raise SystemExit(job["error"])
        made = {row["tool"] for row in job["report"]}
        greet = next(tool for tool in outfitter.discover() if tool.id in made)
        print(greet.prompt_line())
        try:
            greet(person="Ada")
        except ToolFailed as error:
            print(error.code, error.extra["missing"])
        answer = outfitter.call_with(greet.name, {"person": "Ada"}, env={"GREETER_KEY": "k-1234"})
        print(answer.output, f"in {answer.duration_ms} ms")


if __name__ == "__main__":
    main()
