"""The local model, for real: its 8-bit graph beside its full precision in numpy."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import util

import numpy as np
import pytest

from registry.search.dense import bert
from registry.search.dense import local as module
from registry.search.dense.encoder import EncoderUnavailable
from registry.search.dense.forward import Forward
from registry.search.dense.late import BUDGET_SECONDS
from registry.search.dense.local import LocalEncoder

TEXTS = [
    "Will I need an umbrella in Lisbon tomorrow?",
    "get weather forecast. Tells how warm and wet it will be at a place. city; days",
    "convert currency. Changes an amount of money from one currency into another.",
    "Übersetze das ins Französische: 你好, мир! 🙂",
    "word " * 400,
    "",
]


def test_what_means_the_same_lies_nearer_than_what_shares_words(local):
    asked, fits, other = local.encode(
        [
            "Will I need an umbrella in Lisbon tomorrow?",
            "Tells how warm and wet it will be at a place.",
            "Rents umbrellas and sunbeds at beaches.",
        ]
    )
    money = local.encode(["Changes an amount from one currency into another."])[0]
    assert asked @ fits > asked @ money
    assert asked @ other > asked @ money


def test_vectors_have_the_length_one_and_the_told_dimensions(local):
    vectors = local.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), local.dimensions) == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_vectors(local):
    assert local.encode([]).shape == (0, 384)


def test_eight_bits_lose_next_to_nothing(local):
    files = bert.installed()
    exact = Forward(files)
    tokenizer = files.tokenizer()
    for text in TEXTS[:-1]:
        assert local.encode([text])[0] @ exact(*tokenizer([text]))[0] > 0.98


def test_a_vector_does_not_depend_on_what_it_is_worked_out_beside(local):
    together = local.encode(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        assert np.array_equal(local.encode([text])[0], vector)


def test_padding_changes_nothing_in_full_precision(local):
    files = bert.installed()
    exact, tokenizer = Forward(files), files.tokenizer()
    short, long = TEXTS[0], TEXTS[4]
    alone = exact(*tokenizer([short]))[0]
    assert np.allclose(exact(*tokenizer([short, long]))[0], alone, atol=1e-5)


def test_without_onnxruntime_the_model_runs_in_numpy(local, graphs, monkeypatch):
    find, name = util.find_spec, local.name
    monkeypatch.setattr(
        module, "find_spec", lambda name: None if name == "onnxruntime" else find(name)
    )
    plain = LocalEncoder(graphs)
    assert plain.runs_on == "numpy"
    assert plain.name != name  # the numbers differ a little, so they are not mixed
    assert plain.encode(TEXTS[:1])[0] @ local.encode(TEXTS[:1])[0] > 0.98
    assert not graphs.exists()


def test_without_the_package_it_says_what_to_run(monkeypatch):
    monkeypatch.setattr(bert, "find_spec", lambda _name: None)
    with pytest.raises(EncoderUnavailable, match="make semantic"):
        bert.installed()


def test_processes_that_start_together_write_the_graph_whole(local, graphs):
    encoders = [LocalEncoder(graphs) for _ in range(4)]
    ready = threading.Barrier(4)

    def load(encoder):
        ready.wait()
        return encoder.encode(TEXTS[:1])[0]

    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(load, encoders))
    assert all(np.array_equal(vector, vectors[0]) for vector in vectors)
    assert [path.suffix for path in graphs.iterdir()] == [".onnx"]


def test_a_graph_that_is_there_is_not_written_again(local, graphs, monkeypatch):
    LocalEncoder(graphs).encode(["one"])
    monkeypatch.setattr("registry.search.dense.graph.graph_bytes", lambda _files: 1 / 0)
    assert LocalEncoder(graphs).encode(["one"]).shape == (1, 384)


def test_a_damaged_graph_is_written_anew(local, graphs):
    LocalEncoder(graphs).encode(["one"])
    (path,) = graphs.iterdir()
    path.write_bytes(path.read_bytes()[:100_000])
    assert np.array_equal(LocalEncoder(graphs).encode(["one"]), local.encode(["one"]))


def test_a_folder_that_cannot_be_written_is_told(local, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EncoderUnavailable, match="cannot be loaded"):
        LocalEncoder(tmp_path / "file").encode(["one"])


def test_a_query_is_encoded_within_its_budget(local):
    local.encode(["warm up"])
    took = []
    for number in range(20):
        started = time.thread_time()
        local.encode([f"Find {number} cheap flights from Rome to Oslo and book a hotel there"])
        took.append(time.thread_time() - started)
    assert sorted(took)[10] < BUDGET_SECONDS
