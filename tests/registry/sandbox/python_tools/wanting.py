"""Tools that look for keys."""

import os
import time

os.getenv("AT_IMPORT_TOKEN")


def by_name() -> str:
    """Read a key by its name."""
    return os.environ["DEMO_API_KEY"]


def politely() -> str:
    """Ask for a key and say that it is not there."""
    key = os.environ.get("DEMO_API_KEY")
    if not key:
        raise RuntimeError("Set the key first.")
    return "has it"


def needlessly() -> str:
    """Ask for a key that is not needed."""
    return os.getenv("OTHER_SECRET") or "fine"


def unrelated() -> str:
    """Look for what is no key, then fail."""
    os.environ.get("EDITOR")
    raise RuntimeError("Broken.")


def sleeps(seconds: float) -> str:
    """Take a while."""
    time.sleep(seconds)
    return "done"
