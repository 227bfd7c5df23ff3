"""Which encoder a setting means, and what is told where it is not there."""

import io

import pytest
from django.core.management import CommandError, call_command

from config.diagnosis.finding import Trouble
from config.diagnosis.parts import semantic_search
from registry.models import ToolVector
from registry.search.dense import bert, choice
from registry.search.dense.choice import chosen_encoder
from registry.search.dense.encoder import EncoderUnavailable
from registry.search.dense.local import LocalEncoder
from registry.search.dense.progress import problem_tell
from registry.search.dense.storing import vectors_round
from tests.factories import make_tool

pytestmark = pytest.mark.django_db


@pytest.fixture
def setting(settings, tmp_path):
    """Return a function that sets OUTFITTER_EMBEDDINGS."""

    def choose(value):
        settings.EMBEDDINGS = value
        settings.MODELS_DIR = tmp_path
        choice._encoder.cache_clear()

    yield choose
    choice._encoder.cache_clear()


@pytest.fixture
def not_installed(monkeypatch):
    monkeypatch.setattr(bert, "find_spec", lambda _name: None)


def told(command="embed_tools", **options):
    out, err = io.StringIO(), io.StringIO()
    call_command(command, stdout=out, stderr=err, **options)
    return out.getvalue()


def test_off_means_none(setting):
    setting("off")
    assert chosen_encoder() is None
    assert semantic_search() == "Search goes by words alone: it is off."


@pytest.mark.parametrize("value", ["auto", "local"])
def test_the_local_model_is_taken_where_it_is_installed(setting, local, value):
    setting(value)
    assert isinstance(chosen_encoder(), LocalEncoder)


def test_auto_goes_without_where_the_model_is_not_installed(setting, not_installed):
    setting("auto")
    assert chosen_encoder() is None
    assert "`make semantic` adds search by meaning" in semantic_search()


def test_local_says_what_to_run_where_the_model_is_not_installed(setting, not_installed):
    setting("local")
    with pytest.raises(EncoderUnavailable, match="make semantic"):
        chosen_encoder()
    with pytest.raises(Trouble, match="words alone") as trouble:
        semantic_search()
    assert "make semantic" in trouble.value.fix


def test_the_doctor_tells_how_many_tools_wait(encoder):
    make_tool()
    assert semantic_search() == "fake/1: 0 of 1 tools have a vector; 1 wait."
    vectors_round(encoder)
    assert semantic_search() == "fake/1: 1 of 1 tools have a vector."


def test_the_doctor_tells_why_an_encoder_gives_none(encoder):
    make_tool()
    problem_tell("The key was refused.")
    with pytest.raises(Trouble, match="The key was refused"):
        semantic_search()
    problem_tell("")


def test_the_command_works_out_every_vector(encoder):
    for _ in range(3):
        make_tool()
    assert told() == "3 tools with a vector by fake/1.\n"
    assert ToolVector.objects.filter(due_at=None).count() == 3
    assert len(encoder.seen) == 3
    told()
    assert len(encoder.seen) == 3
    told(again=True)
    assert len(encoder.seen) == 6


def test_the_command_works_with_the_real_model(setting, local):
    setting("local")
    make_tool(description="Tells how warm and wet it will be at a place.")
    assert told() == f"1 tool with a vector by {local.name}.\n"


def test_the_command_says_what_to_do_without_an_encoder(setting):
    setting("off")
    with pytest.raises(CommandError, match="make semantic"):
        told()


def test_the_command_says_why_the_encoder_gives_none(encoder):
    make_tool()
    encoder.fails = True
    with pytest.raises(CommandError, match="The encoder is away"):
        told()
