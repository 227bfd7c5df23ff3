"""What differs at every call."""

import pytest

from registry.errors import ToolInputRejected
from tests.registry.builtins.calling import run


def test_a_name_always_has_the_same_uuid() -> None:
    assert run("generate_uuid", {"name": "example.com"}) == {
        "uuids": ["cfbff0d1-9375-5685-968c-48ce8b15ae17"]
    }


def test_half_of_a_character_has_no_uuid() -> None:
    with pytest.raises(ToolInputRejected, match="half of a character"):
        run("generate_uuid", {"name": "a\ud800"})


def test_numbers_lie_between_their_bounds() -> None:
    numbers = run("random_number", {"minimum": 3, "maximum": 5, "count": 100})["numbers"]
    assert len(numbers) == 100
    assert set(numbers) <= {3, 4, 5}


def test_no_option_is_drawn_twice_unless_it_may_be() -> None:
    assert sorted(run("random_choice", {"options": ["a", "b"], "count": 2})["chosen"]) == ["a", "b"]
    with pytest.raises(ToolInputRejected):
        run("random_choice", {"options": ["a"], "count": 2})


def test_a_password_has_the_wanted_length() -> None:
    password = run("generate_password", {"length": 8, "symbols": False})["password"]
    assert len(password) == 8
    assert password.isalnum()
