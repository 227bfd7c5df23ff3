"""Tools by pattern, by name, by how a name begins, and by likeness: who finds what, how ordered."""

import pytest

from registry.errors import PatternInvalid, PatternTooSlow
from registry.models import Tool
from registry.models.tool import Health, Visibility
from registry.search.lookup import look_up, tools_like
from registry.search.service import Mode
from registry.services import tool_delete
from tests.factories import make_package, make_sequence, make_team, make_tool

pytestmark = pytest.mark.django_db

ALL_MODES = [(Mode.REGEX, "weather"), (Mode.EXACT, "acme_getWeather"), (Mode.PREFIX, "getw")]


def weather(**fields):
    values = {
        "wire_name": "acme_getWeather",
        "export_name": "getWeather",
        "title": "Get the weather",
        "description": "Tells the forecast of a town.",
    }
    quality = fields.pop("quality", None)
    tool = make_tool(**{**values, **fields})
    if quality:  # a tool has none when it is published
        Tool.objects.filter(pk=tool.pk).update(quality=quality)
    return tool


def names(user, mode, *texts, **options):
    return [hit.wire_name for hit in look_up(texts, mode=mode, user=user, **options).found]


def told(user, mode, *texts, **options):
    return {
        hit.wire_name: hit.reason for hit in look_up(texts, mode=mode, user=user, **options).hits
    }


def test_a_pattern_finds_names_before_descriptions_and_the_better_tool_first(alice):
    weather(wire_name="b_weather", export_name="b", quality="0.50")
    weather(wire_name="a_weather", export_name="a", quality="0.90")
    weather(wire_name="rain", export_name="r", title="Rain", description="Weather.", quality="1.00")
    assert names(alice, Mode.REGEX, "WEATHER$|^weather") == ["a_weather", "b_weather", "rain"]


def test_a_pattern_is_held_against_name_title_package_and_description(alice):
    tool = weather()
    for pattern, line in {
        "^acme_": "name",
        "^getW": "name",
        "^Get the": "title",
        f"^{tool.package.name}$": "package",
        r"forecast\b.*town\.$": "description",
    }.items():
        (hit,) = look_up([pattern], mode=Mode.REGEX, user=alice).found
        assert hit.why == f"its {line} matches"
        assert hit.score == 1.0


@pytest.mark.parametrize(
    ("pattern", "position"),
    [("get_(", 5), ("[a", 2), ("a**", 2), ("", None), ("  ", None), ("x" * 1_001, None)],
)
def test_what_is_no_pattern_is_refused_with_the_place(alice, pattern, position):
    with pytest.raises(PatternInvalid) as refusal:
        look_up([pattern], mode=Mode.REGEX, user=alice)
    assert refusal.value.extra.get("position") == position
    assert refusal.value.hint
    assert refusal.value.as_dict()["code"] == "pattern_invalid"


@pytest.mark.parametrize("pattern", ["(a|aa)+$", "(a+a+)+b$", "(.*a){12}!"])
def test_a_pattern_that_goes_back_and_forth_for_ever_is_stopped(alice, pattern):
    weather(description="a" * 200 + " b")
    with pytest.raises(PatternTooSlow) as refusal:
        look_up([pattern], mode=Mode.REGEX, user=alice)
    assert "(a+)+" in refusal.value.hint


def test_a_slow_pattern_never_meets_a_tool_that_may_not_be_seen(alice, bob):
    weather(description="a" * 200 + " b", owner=bob, visibility=Visibility.PRIVATE)
    assert names(alice, Mode.REGEX, "(a|aa)+$") == []
    with pytest.raises(PatternTooSlow):
        look_up(["(a|aa)+$"], mode=Mode.REGEX, user=bob)


@pytest.mark.parametrize(("mode", "text"), ALL_MODES)
def test_who_may_not_see_a_tool_does_not_find_it(alice, bob, mode, text):
    team = make_team(bob)
    weather(owner=bob, visibility=Visibility.TEAM, team=team)
    assert told(alice, mode, text) == {}
    assert names(bob, mode, text) == ["acme_getWeather"]


@pytest.mark.parametrize(("mode", "text"), ALL_MODES)
def test_what_would_not_help_is_told_with_the_reason(alice, mode, text):
    tool = weather(required_scopes=["weather:read"])
    assert "requires the scope" in told(alice, mode, text, scopes=frozenset())[tool.wire_name]
    assert told(alice, mode, text, exclude=frozenset({tool.pk})) == {
        tool.wire_name: "already at hand"
    }
    broken = weather(wire_name="weather_broken", title="getWeather", import_health=Health.BROKEN)
    assert told(alice, mode, "getw" if mode == Mode.PREFIX else text.replace("acme_", "")).get(
        broken.wire_name
    ) in {"broken"}


@pytest.mark.parametrize(("mode", "text"), ALL_MODES)
def test_a_change_is_found_at_once(alice, mode, text):
    tool = weather()
    assert names(alice, mode, text) == [tool.wire_name]
    tool.wire_name, tool.export_name, tool.title = "sunshine", "sunshine", "Sun"
    tool.save()
    assert names(alice, mode, text) == []
    assert names(alice, Mode.EXACT, "sunshine") == ["sunshine"]


def test_a_deleted_tool_is_not_found(alice):
    tool = make_sequence(
        alice, wire_name="acme_getWeather", title="Get the weather", description="weather"
    )
    for mode, text in ALL_MODES:
        assert names(alice, mode, text) == [tool.wire_name]
    tool_delete(tool)
    for mode, text in ALL_MODES:
        assert told(alice, mode, text) == {}


@pytest.mark.parametrize(
    "name",
    [
        "acme_getWeather",
        "ACME_GETWEATHER",
        "acme-get-weather",
        "getWeather",
        "get weather",
        "Get the weather",
        " get_weather ",
    ],
)
def test_a_name_is_found_however_it_is_spaced(alice, name):
    weather()
    weather(wire_name="acme_getWeatherAlerts", export_name="getWeatherAlerts", title="Alerts")
    assert names(alice, Mode.EXACT, name) == ["acme_getWeather"]


def test_several_names_are_looked_up_at_once_in_their_order(alice):
    weather()
    weather(wire_name="other", export_name="other", title="Other")
    assert names(alice, Mode.EXACT, "other", "nothing", "getWeather") == [
        "other",
        "acme_getWeather",
    ]


def test_the_name_as_it_is_written_comes_before_others_of_that_spelling(alice):
    weather(wire_name="get-weather", export_name="x", title="X", quality="1.00")
    weather(wire_name="get_weather", export_name="y", title="Y", quality="0.10")
    assert names(alice, Mode.EXACT, "get_weather") == ["get_weather", "get-weather"]


@pytest.mark.parametrize("text", ["g", "get", "weath", "getwea", "get wea", "WEATHER acme"])
def test_words_that_begin_so_find_a_tool(alice, text):
    weather()
    make_tool(wire_name="calendar", title="Calendar")
    assert names(alice, Mode.PREFIX, text) == ["acme_getWeather"]


@pytest.mark.parametrize("text", ["weathr", "waether", "wheather", "weatherr", "weatjer", "wether"])
def test_a_slip_in_a_name_is_mended(alice, text):
    weather()
    assert names(alice, Mode.PREFIX, text) == ["acme_getWeather"]


def test_whether_a_slip_is_mended_tells_nothing_of_what_is_hidden(alice, bob):
    weather()
    weather(wire_name="weathr", export_name="weathr", title="W", owner=bob, visibility="private")
    assert names(alice, Mode.PREFIX, "weathr") == ["acme_getWeather"]


def test_names_that_begin_with_the_word_come_first(alice):
    for number, name in enumerate(["report_weather", "weathering_report", "weather_report"]):
        weather(wire_name=name, export_name=name, title=name, quality=f"0.{9 - number}0")
    assert names(alice, Mode.PREFIX, "weather") == [
        "weather_report",
        "report_weather",
        "weathering_report",
    ]


@pytest.mark.parametrize("mode", [Mode.EXACT, Mode.PREFIX])
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "x",
        "\x00",
        "a\x00b",
        "\ud83d",
        "🙂",
        "\u202egnp\u202c",
        "\u200b\u200b",
        "_",
        "%",
        "' OR 1=1",
        "the of and",
        "word " * 20_000,
        "x" * 10_000_000,
        "Ａｃｍｅ",
        "🙂" * 100_000,
    ],
)
def test_any_text_has_an_answer(alice, mode, text):
    weather()
    assert look_up([text], mode=mode, user=alice).took_ms < 1_000


def test_alike_are_tools_that_do_the_same_and_never_itself(alice):
    broken = weather(import_health=Health.BROKEN)
    twin = weather(
        wire_name="forecast",
        export_name="forecast",
        title="Forecast",
        description="Tells the weather forecast of a city or town.",
        package=make_package(),
    )
    sibling = weather(
        wire_name="acme_getWind",
        export_name="getWind",
        title="Get the wind",
        description="Tells the wind in a town.",
        package=broken.package,
    )
    make_tool(wire_name="hash", title="Hash", description="Computes a checksum of bytes.")
    weather(wire_name="dead", import_health=Health.BROKEN, package=make_package())
    alike = tools_like(broken, alice)
    assert {each.tool.pk: each.same_package for each in alike} == {twin.pk: False, sibling.pk: True}
    assert alike[0].score >= alike[1].score > 0
    assert all(each.score <= 1 for each in alike)


def test_alike_is_nothing_where_nobody_may_see_it_or_nothing_is(alice, bob):
    tool = weather()
    weather(wire_name="secret", owner=bob, visibility=Visibility.PRIVATE)
    assert tools_like(tool, alice) == []
    assert [each.tool.wire_name for each in tools_like(tool, bob)] == ["secret"]
