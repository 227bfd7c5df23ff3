"""What the body of a request may hold: the fields that are described, of the types that they have.

A field that is misspelt, or that this version does not know, is refused and named, instead of being
left out in silence; so is a number where a text belongs, which would be turned into one. Fields
whose content is free (`definition`, `input`, …) say so themselves, by their type.
"""

import re
from collections.abc import Mapping
from typing import Any

from django.http import QueryDict
from rest_framework import serializers

MOST_NAMED = 20
"""Unknown fields that one refusal names."""

ENV_NAME = r"^[A-Z_][A-Z0-9_]{0,99}$"
LONGEST_VALUE = 10_000
MOST_VARIABLES = 50


class Body(serializers.Serializer[Any]):
    """A serializer of a request's body, or of a part of it, that takes what it describes only.

    `always` are the fields that a PATCH needs, too: the reason for it, say.
    """

    always: tuple[str, ...] = ()

    def to_internal_value(self, data: Any) -> Any:
        """Return the validated fields; raise ValidationError, also for each unknown one."""
        if isinstance(data, Mapping):
            fields = {name: field for name, field in self.fields.items() if not field.read_only}
            unknown = [str(name) for name in data if name not in fields]
            if unknown:
                raise serializers.ValidationError(
                    {name[:100]: ["There is no such field."] for name in unknown[:MOST_NAMED]}
                )
            if not isinstance(data, QueryDict):  # a form and an address have texts only
                wrong = {name: _wrong(fields[name], value) for name, value in data.items()}
                if found := {name: why for name, why in wrong.items() if why}:
                    raise serializers.ValidationError(found)
        return super().to_internal_value(data)


class VariablesField(serializers.DictField):
    """Variables by name, such as EXA_API_KEY. Their values are sent to tools as they come."""

    def __init__(self, *, names: str = ENV_NAME, **kwargs: Any) -> None:
        child = serializers.CharField(max_length=LONGEST_VALUE, trim_whitespace=False)
        super().__init__(child=child, **kwargs)
        self.names = names

    def to_internal_value(self, data: Any) -> Any:
        """Return the values by name; raise ValidationError for what no variable is called."""
        values = super().to_internal_value(data)
        if len(values) > MOST_VARIABLES:
            raise serializers.ValidationError(f"At most {MOST_VARIABLES} variables can be given.")
        for name in values:
            if not re.fullmatch(self.names, name):
                told = f"“{name[:100]}” is not a variable name, such as EXA_API_KEY."
                raise serializers.ValidationError(told)
        return values


def _wrong(field: Any, value: Any) -> Any:
    """Return what a value of another type than JSON Schema means by the field's is told, or None.

    A list or an object gives what is wrong inside, by place, as DRF does. What is null, and what
    DRF is strict about itself, is left to it.
    """
    if value is None:
        return None
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        inside = [_wrong(field.child, each) or [] for each in value]
        return inside if any(inside) else None
    if isinstance(field, serializers.DictField) and isinstance(value, dict):
        named = {str(name): _wrong(field.child, each) for name, each in value.items()}
        return {name: why for name, why in named.items() if why} or None
    if isinstance(field, serializers.BooleanField):
        return None if isinstance(value, bool) else ["Must be true or false."]
    if isinstance(field, serializers.CharField):
        return None if isinstance(value, str) else ["Not a valid string."]
    if isinstance(field, serializers.IntegerField | serializers.FloatField):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if is_number else ["A valid number is required."]
    return None
