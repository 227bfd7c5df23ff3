"""The running product, which trusts the place where programs keep their documents."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.oauth.documents import Documents, serving_documents
from tests.live import live, live_processes

__all__ = ["live", "live_processes"]


@pytest.fixture(scope="package", autouse=True)
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Documents]:
    """Serve documents; the processes that start after this trust the certificate."""
    with (
        serving_documents(tmp_path_factory.mktemp("documents")) as served,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("SSL_CERT_FILE", str(served.certificate))
        yield served
