"""Search by words and meaning together, for a person."""

import threading

import numpy as np
import pytest

from registry.models import ToolVector
from registry.models.package import ReviewStatus
from registry.models.tool import Visibility
from registry.search.dense import choice, held, meaning
from registry.search.dense.encoder import EncoderUnavailable
from registry.search.dense.held import HeldVectors
from registry.search.dense.late import QueryVectors
from registry.search.dense.storing import vectors_round
from registry.search.need import Need
from registry.search.service import search
from registry.services import tool_delete
from tests.factories import make_builtin, make_tool
from tests.live import eventually
from tests.registry.search.dense.fakes import FakeEncoder

pytestmark = pytest.mark.django_db

NEED = "umbrella, rain"


def weather(**fields):
    values = {"export_name": "sky", "title": "Sky", "description": "Weather, weather forecast."}
    return make_tool(**{**values, **fields})


@pytest.fixture
def patient(monkeypatch):
    """Wait for vectors as long as it takes."""
    monkeypatch.setitem(QueryVectors.__init__.__kwdefaults__, "budget", 10.0)


@pytest.fixture
def catalogue(encoder, patient, monkeypatch):
    """A few tools that have something to do with nothing, and one with the weather."""
    for name in ("calculator", "change_case", "convert_units", "hash_text"):
        make_builtin(name)
    tools = {"sky": weather(), "tell": make_tool(export_name="teller", description="Tell jokes.")}
    vectors_round(encoder)
    # what a test has not committed no other thread can read
    monkeypatch.setattr(HeldVectors, "current", lambda self: self._vectors)
    return tools


def read():
    process = meaning.held_vectors()
    process.read_all()
    return process


def names(answer):
    return [hit.tool_id for hit in answer.hits]


def test_what_shares_no_word_is_found_by_its_meaning(alice, catalogue):
    read()
    answer = search(NEED, user=alice)
    assert answer.dense == "used"
    assert answer.found[0].tool_id == catalogue["sky"].pk
    assert answer.found[0].parts["dense"] > 0.4


def test_without_an_encoder_words_alone_decide_and_that_is_told(alice):
    make_builtin("calculator")
    answer = search("calculator", user=alice)
    assert (answer.dense, len(answer.found)) == ("off", 1)


def test_while_there_are_no_vectors_words_alone_decide(alice, encoder, patient):
    make_builtin("calculator")
    answer = search("calculator", user=alice)
    assert (answer.dense, len(answer.found)) == ("loading", 1)


def test_an_encoder_that_is_late_leaves_the_search_to_the_words(
    alice, catalogue, encoder, monkeypatch
):
    monkeypatch.setitem(QueryVectors.__init__.__kwdefaults__, "budget", 0.02)
    meaning.reset()
    read()
    encoder.hold = threading.Event()
    answer = search("hash text", user=alice)
    assert (answer.dense, answer.found[0].wire_name) == ("late", "hash_text")
    assert "dense" not in answer.found[0].parts
    encoder.hold.set()


def test_an_encoder_that_fails_leaves_the_search_to_the_words(alice, catalogue, encoder):
    read()
    encoder.fails = True
    answer = search("hash text", user=alice)
    assert (answer.dense, answer.found[0].wire_name) == ("failed", "hash_text")


def test_small_talk_stays_without_tools(alice, catalogue):
    read()
    for message in ("hello", "thanks a lot!", "", "how are you?"):
        assert search(message, user=alice).found == ()


def test_a_tool_without_a_vector_is_still_found_by_its_words(alice, catalogue):
    read()
    new = make_tool(export_name="barcodeReader", title="Barcode", description="Reads barcodes.")
    assert search("read a barcode", user=alice).found[0].tool_id == new.pk


def test_meaning_shows_nobody_what_they_may_not_see(alice, charlie, catalogue, encoder):
    own = weather(owner=alice, visibility=Visibility.PRIVATE, export_name="mine")
    waits = weather(export_name="waits", review_status=ReviewStatus.CANDIDATE)
    vectors_round(encoder)
    read()
    assert own.pk in names(search(NEED, user=alice, floor=0))
    seen = names(search(NEED, user=charlie, floor=0))
    assert catalogue["sky"].pk in seen
    assert own.pk not in seen
    assert waits.pk not in seen


def test_the_api_says_whether_meaning_was_used(alice, catalogue, client_for):
    read()
    url = "/api/v1/tools/search/"
    told = client_for(alice).get(url, {"q": NEED, "explain": 1}).json()
    assert told["dense"] == "used"
    assert all("dense" in result["parts"] for result in told["results"])


def test_a_named_encoder_that_is_missing_is_told_once_and_search_goes_on(
    alice, monkeypatch, caplog
):
    def missing(_setting):
        raise EncoderUnavailable("Not installed.")

    monkeypatch.setattr(choice, "_encoder", missing)
    meaning.reset()
    make_builtin("calculator")
    assert search("calculator", user=alice).dense == "off"
    assert search("calculator", user=alice).dense == "off"
    assert caplog.text.count("words alone") == 1


def test_the_memory_of_a_process_is_asked_for_when_it_is_made(encoder):
    assert meaning.ask(Need(text="rain")) is not None
    assert meaning.held_vectors() is meaning.held_vectors()


@pytest.mark.django_db(transaction=True)
class TestHeld:
    """Vectors in memory follow the database."""

    @pytest.fixture
    def vectors(self):
        made = HeldVectors("fake/1")
        yield made
        made.close()

    def test_the_first_search_starts_reading_and_does_not_wait(self, vectors):
        tool = weather()
        vectors_round(FakeEncoder())
        vectors.current()
        eventually(lambda: str(tool.pk) in (vectors.current() or ()))

    def test_a_vector_that_is_stored_anywhere_is_held_soon(self, vectors):
        first = weather()
        vectors_round(FakeEncoder())
        vectors.current()
        eventually(lambda: str(first.pk) in (vectors.current() or ()))
        second = weather(export_name="second")
        vectors_round(FakeEncoder())
        eventually(lambda: str(second.pk) in (vectors.current() or ()))

    def test_a_changed_vector_replaces_the_old_one(self, vectors):
        tool, encoder = weather(), FakeEncoder()
        vectors_round(encoder)
        vectors.current()
        eventually(lambda: str(tool.pk) in (vectors.current() or ()))
        tool.description = "Money at a place."
        tool.save()
        vectors_round(encoder)
        money = encoder.encode(["money"])[0]

        def near():
            return vectors.current().likeness([str(tool.pk)], money)[0]

        eventually(lambda: near() > 0.1)

    def test_a_vector_is_gone_with_its_tool(self, vectors):
        tool = weather()
        vectors_round(FakeEncoder())
        vectors.current()
        eventually(lambda: str(tool.pk) in (vectors.current() or ()))
        tool_delete(tool)
        eventually(lambda: str(tool.pk) not in (vectors.current() or ()))

    def test_many_changes_are_read_in_the_background(self, vectors, monkeypatch):
        monkeypatch.setattr(held, "FEW", 0)
        tool = weather()
        vectors.current()
        vectors_round(FakeEncoder())
        eventually(lambda: str(tool.pk) in (vectors.current() or ()))

    def test_pages_are_read_to_the_last(self, vectors, monkeypatch):
        monkeypatch.setattr(held, "PAGE", 2)
        tools = [weather(export_name=f"tool{number}") for number in range(4)]
        vectors_round(FakeEncoder())
        vectors.read_all()
        assert len(vectors) == len(tools)

    def test_a_vector_that_was_tampered_with_is_passed_over(self, vectors):
        tools = [weather(export_name=f"tool{number}") for number in range(2)]
        vectors_round(FakeEncoder())
        last = max(tool.pk for tool in tools)
        ToolVector.objects.filter(pk=last).update(vector=b"\1\2")
        vectors.read_all()
        assert len(vectors) == 1
        assert np.isnan(vectors.current().likeness([str(last)], np.ones(64, np.float32))[0])
