"""Scales, paths and words of plots, and CSV that runs nothing."""

from __future__ import annotations

import pytest

from config.lib.csv_answers import csv_answer
from config.lib.plots import Series, ceiling, counted, lasting, lined, priced, stacked


@pytest.mark.parametrize(
    ("value", "top"),
    [(0, 1), (1, 1), (3, 5), (7, 10), (11, 20), (99, 100), (101, 200), (0.03, 0.05), (0.2, 0.2)],
)
def test_a_scale_ends_at_a_round_number(value, top):
    assert ceiling(value) == pytest.approx(top)


def test_bars_are_stacked_within_the_box():
    plot = stacked(
        "calls",
        "Calls",
        ["a", "b"],
        [
            Series(name="Well", css="plot-ok", values=[60, 0]),
            Series(name="Ill", css="plot-bad", values=[40, None]),
        ],
        counted,
    )
    assert [(bar.x, bar.y, bar.height, bar.css) for bar in plot.bars] == [
        (1.5, 40, 60, "plot-ok"),
        (1.5, 0, 40, "plot-bad"),
    ]
    assert plot.bars[0].told == "a: Well 60"
    assert plot.rows[1] == [("When", "b"), ("Well", "0"), ("Ill", "–")]
    assert plot.y_labels == ("100", "50", "0")
    assert not plot.empty


def test_a_line_is_broken_off_where_there_is_no_value():
    values = [10, 20, None, 5, None, None, 10, 10]
    labels = list("abcdefgh")
    plot = lined("l", "L", labels, [Series(name="p50", css="plot-1", values=values)], lasting)
    assert plot.lines[0].path.startswith("M5.0 50.0L15.0 0.0M35.0 75.0")
    assert plot.lines[0].path.count("M") == 4, "the lone value is drawn as a short stroke"
    assert plot.x_labels == ["a", "c", "f", "h"]


def test_shares_are_drawn_on_the_whole_scale():
    series = [Series(name="Share", css="plot-1", values=[0.5, 0.25])]
    plot = lined("l", "L", ["a", "b"], series, lambda value: f"{value:.2f}", most=1)
    assert plot.y_labels == ("1.00", "0.50", "0.00")
    assert plot.lines[0].path == "M5.0 50.0L15.0 75.0"


def test_a_plot_of_nothing_is_empty():
    assert lined("l", "L", ["a"], [Series(name="p", css="c", values=[None])], lasting).empty
    assert stacked("s", "S", [], [], counted).empty


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (counted(0), "0"),
        (counted(0.5), "0.5"),
        (counted(999), "999"),
        (counted(1_250), "1.2k"),
        (counted(3_000_000), "3M"),
        (lasting(12), "12 ms"),
        (lasting(1_500), "1.5 s"),
        (lasting(180_000), "3 min"),
        (priced(0), "$0.00"),
        (priced(1234.5), "$1,234.50"),
        (priced(0.0125), "$0.013"),
        (priced(0.00004), "$0.000040"),
    ],
)
def test_numbers_in_words(words, expected):
    assert words.replace("\u00a0", " ") == expected


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =cmd|' /C'"])
def test_a_formula_in_a_cell_is_quoted(text):
    line = csv_answer("x", ["name"], [[text]]).content.decode().split("\r\n", 1)[1]
    assert line.startswith(("'", "\"'"))


def test_numbers_and_words_of_a_table_stay_as_they_are():
    answer = csv_answer("Use of “x”", ["name", "n"], [["plain", -1], [None, 0.5]])
    assert answer.content.decode() == "name,n\r\nplain,-1\r\n,0.5\r\n"
    assert answer["Content-Disposition"] == 'attachment; filename="use-of-x.csv"'
