"""The local model, and encoders that are set for a test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.search.dense import choice, meaning
from registry.search.dense.encoder import EncoderUnavailable
from registry.search.dense.local import LocalEncoder
from tests.registry.search.dense.fakes import FakeEncoder


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> LocalEncoder:
    """Give the real model; a named skip where it is not installed, a failure in CI."""
    try:
        encoder = LocalEncoder(tmp_path_factory.mktemp("models"))
        encoder.encode([""])  # loaded now: a test that hides what it runs on must not decide it
        return encoder
    except EncoderUnavailable as problem:
        if os.environ.get("CI"):
            pytest.fail(str(problem), pytrace=False)
        pytest.skip(str(problem))


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    """Give an empty folder for the graph of a model."""
    return tmp_path / "graphs"


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEncoder]:
    """Set an encoder that knows which words mean the same."""
    fake = FakeEncoder()
    monkeypatch.setattr(choice, "_encoder", lambda _setting: fake)
    meaning.reset()
    yield fake
    meaning.reset()
