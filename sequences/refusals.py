"""Tell in plain words what pydantic found wrong with a definition, and where."""

from collections.abc import Mapping

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from sequences.problems import Place, Problem, problem_at

Models = Mapping[str, type[BaseModel]]
"""The parts of a definition by what they are called in it, sources by `source` too; "" for all."""


def refused(error: ErrorDetails, models: Models) -> Problem:
    """Return one error of pydantic as a problem at the field that a person sees."""
    location = _without_tag(error["loc"])
    return problem_at(location, _message(error, location, models))


def _without_tag(location: Place) -> Place:
    """Drop the source name that pydantic puts into the place of an error inside a mapping."""
    match location:
        case ("steps", int(), "inputMapping", _, _, *_):
            return (*location[:4], *location[5:])
        case ("steps", int(), "forEach", "items", _, *_):
            return (*location[:4], *location[5:])
        case ("finalOutputMapping", _, _, *_):
            return (*location[:2], *location[3:])
        case _:
            return location


_SOURCES = "initialInput, static, previousStep, template, expression or item"
_PATTERN = (
    "This must be a name of letters, digits and underscores that does not start with a digit, "
    "at most 64 characters long."
)
_MESSAGES = {
    "missing": "“{name}” is missing.",
    "extra_forbidden": "“{name}” is not known here. Known: {known}.",
    "int_type": "This must be a whole number.",
    "float_type": "This must be a number.",
    "bool_type": "This must be true or false.",
    "string_type": "This must be text.",
    "dict_type": "This must be an object.",
    "tuple_type": "This must be a list.",
    "model_type": "This must be an object.",
    "model_attributes_type": "This must be an object.",
    "union_tag_not_found": f"Say where the value comes from: source is {_SOURCES}.",
    "union_tag_invalid": f"This source is not known. Use {_SOURCES}.",
    "too_short": "Map at least one value, or leave the final output out.",
    "greater_than_equal": "This must be at least {ge}.",
    "less_than_equal": "This must be at most {le}.",
    "string_too_short": "This must not be empty.",
    "string_too_long": "This must be at most {max_length} characters long.",
    "string_pattern_mismatch": _PATTERN,
    "literal_error": "This must be {expected}.",
}


def _message(error: ErrorDetails, location: Place, models: Models) -> str:
    message = _MESSAGES.get(error["type"], "This does not fit here.")
    known = ", ".join(_fields_at(error["loc"], models))
    facts = {"name": location[-1] if location else "", "known": known, **error.get("ctx", {})}
    return message.format_map(facts)


def _fields_at(location: Place, models: Models) -> list[str]:
    """Return the keys that are known where pydantic met an unknown one."""
    match location:
        case (
            ("steps", int(), "inputMapping", _, str(part), _)
            | ("steps", int(), "forEach", "items", str(part), _)
            | ("finalOutputMapping", _, str(part), _)
            | ("steps", int(), str(part), _)
        ):
            name = part
        case ("steps", int(), _):
            name = "steps"
        case _:
            name = ""
    fields = models.get(name, models[""]).model_fields
    return [field.alias or name for name, field in fields.items()]
