"""What the numbers and models of an agent may be."""

from collections.abc import Mapping, Sequence

from config.lib.errors import InvalidInput
from config.lib.jsontext import storable

MOST_FALLBACKS = 5
LONGEST_MODEL = 120

RANGES = {"max_found_tools": (0, 20), "schema_budget": (500, 200_000), "max_steps": (1, 50)}
"""Field → the least and the most that it may be, as the database holds them."""


def require_in_range(fields: Mapping[str, object]) -> None:
    """Raise InvalidInput with a problem for each number that is out of its range."""
    problems = [
        {"path": name, "message": f"Choose a number from {least:,} to {most:,}."}
        for name, (least, most) in RANGES.items()
        if isinstance(value := fields.get(name), int) and not least <= value <= most
    ]
    if problems:
        raise InvalidInput(
            " ".join(f"{problem['path']}: {problem['message']}" for problem in problems),
            "Correct the named fields.",
            problems=problems,
        )


def checked_fallbacks(model: str, fallbacks: Sequence[str]) -> list[str]:
    """Return the models that are asked in turn; raise InvalidInput for what is no use."""
    names = [storable(name).strip() for name in fallbacks]
    problem = ""
    if len(names) > MOST_FALLBACKS:
        problem = f"{len(names)} models are given; at most {MOST_FALLBACKS} are asked in turn."
    elif not all(names):
        problem = "One of the fallback models is empty."
    elif model.strip() in names:
        problem = f"“{model.strip()[:120]}” is the model itself; name others."
    elif len(set(names)) < len(names):
        problem = "One of the fallback models is given twice."
    elif any(len(name) > LONGEST_MODEL or len(name.split()) > 1 for name in names):
        problem = f"A model string has no blanks and at most {LONGEST_MODEL} signs."
    if problem:
        raise InvalidInput(
            problem,
            "Name LiteLLM model strings, such as anthropic/claude-sonnet-4-5.",
            problems=[{"path": "fallback_models", "message": problem}],
        )
    return names
