"""How each attack of `attacks.py` is expected to end, for packages and for code alike."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.hostile import attacks

LEAST = 60
FAMILIES = {"files", "network", "processes", "resources", "protocol", "poison", "neighbours"}
SOURCE = Path(attacks.__file__)
ATTACKS = [(family, name) for name, (family, _) in attacks.ATTACKS.items()]

FORGED = {"protocol_violation"}
STOPPED = {"tool_timeout", "cpu_limit"}
STARVED = {"out_of_memory", "tool_crashed", *STOPPED}
ENDED = {"tool_crashed"}
TOO_LARGE = {"output_too_large", "output_rejected"}

# How the service ends an attack that does not simply come back refused.
ENDINGS: dict[str, set[str]] = {
    **dict.fromkeys(
        (
            "spin",
            "spin_in_threads",
            "spin_in_c",
            "sleep_forever",
            "backtrack",
            "power",
            "make_files_without_end",
            "ignore_signals",
        ),
        STOPPED,
    ),
    **dict.fromkeys(("exit_at_once", "abort", "crash", "kill_itself"), ENDED),
    "answer_too_much": TOO_LARGE,
    "answer_far_too_much": TOO_LARGE | {"tool_failed"},
    "answer_too_deep": FORGED | {"tool_failed", "output_rejected"},
    "print_without_end": FORGED | STOPPED | {"output_too_large"},
    "write_errors_without_end": ENDED | STOPPED,
    "send_long_line": {"output_too_large"} | FORGED,
    "close_every_descriptor": ENDED | STOPPED | FORGED,
    "log_for_another_call": FORGED | STOPPED,
}
# These may also end the process, depending on which limit they meet first.
MAY_END: dict[str, set[str]] = {
    **dict.fromkeys(
        (
            "fill_memory",
            "fill_memory_slowly",
            "fill_mapped_memory",
            "fill_temporary_folder",
            "recurse",
            "make_folders_without_end",
            "start_threads_without_end",
            "open_without_end",
            "make_pipes_without_end",
        ),
        STARVED,
    ),
    "fill_one_file": ENDED,
    "keep_thread": STOPPED,
    "keep_exit_handler": STOPPED,
    "patch_json": FORGED | {"tool_failed", "output_rejected"},
    "patch_modules": FORGED | {"tool_failed"},
}
# Here the process takes what it was told for an answer: the call's own, and nobody else's.
OWN_ANSWER = {"patch_json"}
MEMORY_SECONDS = 30.0
# What is to be stopped by the clock is stopped as surely after this as after a minute.
SHORT_SECONDS = 0.4
# What is to come back, or to break a rule, has the time for it on a busy machine too.
LONG_SECONDS = 90.0
# These would go on until their processor time is used up.
SECONDS = {"make_folders_without_end": 1.0}


def expected_endings(family: str, name: str) -> set[str]:
    """Return the codes one of which must end the attack; empty when it comes back refused."""
    return ENDINGS.get(name) or (FORGED if family == "protocol" else set())


def seconds_for(name: str) -> float:
    """Give an attack that is to be stopped little time, and others enough."""
    if name in SECONDS or MAY_END.get(name) == STARVED:
        return SECONDS.get(name, MEMORY_SECONDS)
    return SHORT_SECONDS if ENDINGS.get(name, set()) & STOPPED else LONG_SECONDS


def require_enough(names: Iterable[str]) -> None:
    """Fail when a suite has fewer attacks than were promised, or leaves out a family of them."""
    tried = set(names)
    assert tried == {name for _, name in ATTACKS}
    assert len(tried) >= LEAST
    assert {family for family, _ in ATTACKS} == FAMILIES


def judge(family: str, name: str, ending: str, output: Any) -> None:
    """Fail when an attack did not end as it must."""
    expected = expected_endings(family, name)
    if expected:
        assert ending in expected, (ending, output)
    elif ending:
        assert ending in MAY_END.get(name, set()), ending
    else:
        assert output["escaped"] in (None, "patched" if name in OWN_ANSWER else None), output
