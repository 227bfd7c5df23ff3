"""What a service refused stands beside the field that it names."""

import pytest
from django import forms

from config.lib.errors import InvalidInput
from config.lib.form_errors import show_refusal


class Form(forms.Form):
    name = forms.CharField()
    most = forms.IntegerField()


@pytest.fixture
def form():
    form = Form({"name": "x", "most": 1})
    assert form.is_valid()
    return form


def refused(*paths):
    return InvalidInput(
        "It is not valid.",
        "Correct it.",
        problems=[{"path": path, "message": f"{path} is wrong"} for path in paths],
    )


@pytest.mark.parametrize("path", ["name", "$.name"])
def test_a_problem_stands_beside_the_field_that_its_path_names(form, path):
    show_refusal(form, refused(path))
    assert form.errors == {"name": [f"{path} is wrong"]}


def test_a_path_of_another_name_is_looked_up(form):
    show_refusal(form, refused("$.callsPerMinute"), {"$.callsPerMinute": "most"})
    assert form.errors == {"most": ["$.callsPerMinute is wrong"]}


def test_a_problem_without_a_field_stands_above_all_of_them(form):
    show_refusal(form, refused("name", "b"))
    assert form.errors["name"] == ["name is wrong"]
    assert form.non_field_errors() == ["b is wrong"]


@pytest.mark.parametrize("error", [refused(), refused("b")])
def test_where_no_problem_has_a_field_the_error_is_told_itself(form, error):
    show_refusal(form, error)
    assert form.non_field_errors() == ["It is not valid. Correct it."]


def test_an_error_without_problems_is_told_with_what_to_do_next(form):
    show_refusal(form, InvalidInput("It runs already.", "End it first."))
    assert form.non_field_errors() == ["It runs already. End it first."]
