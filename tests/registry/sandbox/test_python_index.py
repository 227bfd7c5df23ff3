"""The operator's pip and uv settings, uv's lock and its errors, a package's own manifest."""

from pathlib import Path

import pytest

from registry.sandbox.service import uv
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.python_index import index_of_operator
from registry.sandbox.service.python_manifest import installed_manifest


def test_the_operators_settings_are_read_as_pip_and_uv_read_them(tmp_path: Path) -> None:
    links = tmp_path / "wheels"
    mirror = tmp_path / "mirror" / "simple"
    for folder in (links, mirror, tmp_path / "pip"):
        folder.mkdir(parents=True)
    (tmp_path / "ca.pem").write_text("CA")
    (tmp_path / ".netrc").write_text("machine i.test login a password b\n")
    (tmp_path / "pip" / "pip.conf").write_text(
        f"[global]\nindex-url = http://i.test/simple\nfind-links = {links}\n"
        f"extra-index-url = file://{mirror} file:///absent http://e.test/simple\n"
        f"[install]\ntrusted-host = i.test\ntimeout = 7\n"
    )
    index = index_of_operator(
        {
            "HOME": str(tmp_path),
            "XDG_CONFIG_HOME": str(tmp_path),
            "XDG_CONFIG_DIRS": str(tmp_path / "none"),
            "PIP_CERT": str(tmp_path / "ca.pem"),
            "UV_INDEX_URL": "http://uv.test/simple",
            "HTTPS_PROXY": "http://proxy.test:3128",
            "DATABASE_URL": "postgres://secret",
        }
    )
    assert index.environment == {
        "HTTPS_PROXY": "http://proxy.test:3128",
        "UV_INDEX_URL": "http://uv.test/simple",
        "UV_EXTRA_INDEX_URL": f"file://{mirror} http://e.test/simple",
        "UV_FIND_LINKS": str(links),
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_INSECURE_HOST": "i.test",
        "UV_HTTP_TIMEOUT": "7",
        "SSL_CERT_FILE": "/ca.pem",
    }
    assert set(index.folders) == {str(links), str(mirror.parent)}
    assert index.files["/ca.pem"] == b"CA"
    assert b"password b" in index.files["/home/.netrc"]
    assert "password" not in repr(index)


LOCK = """foo==1.2 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
bar[extra]==3 ; python_version > "3" \\
    --hash=sha256:cc
"""


def test_a_lock_gives_the_version_its_integrity_and_a_digest() -> None:
    one = uv.read_lock(LOCK, "Bar")
    assert (one.version, one.integrity) == ("3", "sha256:cc")
    two = uv.read_lock(LOCK, "foo")
    assert two.version == "1.2"
    assert two.integrity.startswith("sha256-of-hashes:")
    assert one.lock_digest == two.lock_digest


def test_a_lock_without_a_hash_is_refused() -> None:
    with pytest.raises(ServiceError, match="no hash for foo"):
        uv.read_lock("foo==1.2\n", "foo")


@pytest.mark.parametrize(
    ("stderr", "code", "words"),
    [
        (
            "Because docopt was not found in the package registry and you require docopt",
            "package_not_found",
            "no Python package called docopt",
        ),
        (
            "Because other was not found in the package registry and docopt depends on it",
            "build_failed",
            "docopt needs other",
        ),
        (
            "cause: Because there is no version of docopt==9 and you require docopt==9",
            "version_not_found",
            "docopt has no version 9",
        ),
        (
            "Because all versions of docopt have no usable wheels and you require docopt",
            "build_failed",
            "no wheel",
        ),
        ("error: Failed to fetch: `http://i.test/`", "registry_unreachable", "did not answer"),
        ("Hash mismatch for `docopt==1`", "integrity_mismatch", "does not match its hash"),
        ("No space left on device (os error 28)", "storage_full", "no room"),
        ("something else", "build_failed", "docopt 9 could not be installed"),
    ],
)
def test_what_uv_says_becomes_an_error_with_a_code(stderr: str, code: str, words: str) -> None:
    error = uv.failure(stderr, "docopt", "9")
    assert error.code == code
    assert words in error.message


def test_a_manifest_names_the_modules_and_where_the_tools_are(tmp_path: Path) -> None:
    info = tmp_path / "my_pkg-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Name: My.Pkg\nVersion: 1.0\nSummary: Mine\nKeywords: a,b\nRequires-Dist: httpx>=1\n\nText"
    )
    (info / "RECORD").write_text("my_pkg/__init__.py,,\ntests/x.py,,\n_speed.so,,\n")
    found = installed_manifest(tmp_path, "my-pkg")
    assert found["description"] == "Mine"
    assert found["keywords"] == ["a", "b"]
    assert found["modules"] == ["my_pkg", "tests", "_speed"]
    assert found["entries"] == [{"module": "my_pkg", "attribute": ""}]

    (info / "entry_points.txt").write_text("[outfitter.tools]\nx = my_pkg.deep:TOOLS\n")
    (tmp_path / "my_pkg").mkdir()
    (tmp_path / "my_pkg" / "outfitter.json").write_text('{"category": "text"}')
    found = installed_manifest(tmp_path, "my-pkg")
    assert found["entries"] == [{"module": "my_pkg.deep", "attribute": "TOOLS"}]
    assert found["outfitter"] == {"category": "text"}
