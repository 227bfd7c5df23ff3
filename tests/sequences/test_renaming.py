"""An input that gets another name is found again in the texts that read it."""

import pytest

from sequences.renaming import renamed_in_condition, renamed_in_expression, renamed_in_template


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("initial.city", "initial.place"),
        (" initial . city ", " initial . place "),
        ('initial."city".name', "initial.place.name"),
        ("initial.city_2", "initial.city_2"),
        ("steps.initial.city", "steps.initial.city"),
        ("join(', ', [initial.city, initial.city])", "join(', ', [initial.place, initial.place])"),
        ("'initial.city'", "'initial.city'"),
        ("steps.all[?initial.city]", "steps.all[?initial.city]"),
        ("steps.all[*].initial.city", "steps.all[*].initial.city"),
        ("initial.city && steps.a[?initial.city]", "initial.city && steps.a[?initial.city]"),
        ("initial.city[?", "initial.city[?"),
    ],
)
def test_an_expression_is_changed_where_it_surely_means_the_input(before: str, after: str) -> None:
    assert renamed_in_expression(before, "city", "place") == after


def test_a_name_that_jmespath_has_to_quote_is_quoted() -> None:
    assert renamed_in_expression("initial.city", "city", "my city") == 'initial."my city"'


def test_all_expressions_of_a_template_are_changed_and_its_text_is_not() -> None:
    template = "initial.city {{ initial.city }} and {{initial.city}}"
    assert (
        renamed_in_template(template, "city", "place")
        == "initial.city {{ initial.place }} and {{initial.place}}"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("initial.city == 'initial.city'", "initial.place == 'initial.city'"),
        ('has(initial.city) && initial["city"] != ""', 'has(initial.place) && initial.place != ""'),
        ("initial.city_2 > 1", "initial.city_2 > 1"),
        ("steps.initial.city", "steps.initial.city"),
    ],
)
def test_a_condition_is_changed_outside_of_its_texts(before: str, after: str) -> None:
    assert renamed_in_condition(before, "city", "place") == after


def test_a_condition_has_an_odd_name_in_brackets() -> None:
    assert renamed_in_condition("initial.city", "city", "my city") == 'initial["my city"]'
