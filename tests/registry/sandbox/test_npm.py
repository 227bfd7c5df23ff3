"""The operator's npm settings, Deno's lock and its errors."""

import json
from pathlib import Path

import pytest

from registry.sandbox.service import npm
from registry.sandbox.service.errors import ServiceError


def test_the_operators_settings_are_read_as_the_client_reads_them(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").write_text("//r.test/:_authToken=${TOKEN}\nother=${UNSET}\n")
    (tmp_path / "a.pem").write_text("A")
    (tmp_path / "b.pem").write_text("B")
    environment = {
        "HOME": str(tmp_path),
        "TOKEN": "t0ken",
        "npm_config_registry": "http://r.test/",
        "https_proxy": "http://proxy.test:3128",
        "SSL_CERT_FILE": str(tmp_path / "a.pem"),
        "PIP_CERT": str(tmp_path / "b.pem"),
        "NODE_EXTRA_CA_CERTS": str(tmp_path / "absent.pem"),
        "DATABASE_URL": "postgres://secret",
    }
    registry = npm.registry_of_operator(environment)
    assert registry.npmrc == b"//r.test/:_authToken=t0ken\nother=${UNSET}\n"
    assert registry.certificates == b"A\nB"
    assert registry.variables == {
        "NPM_CONFIG_REGISTRY": "http://r.test/",
        "https_proxy": "http://proxy.test:3128",
        "DENO_CERT": "/ca.pem",
    }


def test_without_settings_nothing_is_shown_to_the_build(tmp_path: Path) -> None:
    registry = npm.registry_of_operator({"HOME": str(tmp_path)})
    assert registry.files == {}
    assert registry.variables == {}


def lock(folder: Path, packages: dict[str, dict[str, str]]) -> Path:
    path = folder / "deno.lock"
    specifiers = {"npm:@a/b@latest": "1.2.3_zod@4.0.0"}
    path.write_text(json.dumps({"specifiers": specifiers, "npm": packages}))
    return path


def test_the_exact_version_is_read_from_the_lock(tmp_path: Path) -> None:
    packages = {
        "@a/b@1.2.3_zod@4.0.0": {"integrity": "sha512-b"},
        "zod@4.0.0": {"integrity": "sha512-z"},
    }
    resolved = npm.read_lock(lock(tmp_path, packages), "@a/b")
    assert (resolved.version, resolved.integrity) == ("1.2.3", "sha512-b")
    packages["zod@4.0.0"]["integrity"] = "sha512-other"
    other = npm.read_lock(lock(tmp_path, packages), "@a/b")
    assert other.lock_digest != resolved.lock_digest


@pytest.mark.parametrize("integrity", ["", "md5-x"])
def test_a_package_without_integrity_is_refused(tmp_path: Path, integrity: str) -> None:
    packages = {
        "@a/b@1.2.3_zod@4.0.0": {"integrity": "sha512-b"},
        "zod@4.0.0": {"integrity": integrity},
    }
    with pytest.raises(ServiceError, match=r"no integrity for zod@4\.0\.0") as caught:
        npm.read_lock(lock(tmp_path, packages), "@a/b")
    assert caught.value.code == "integrity_mismatch"


@pytest.mark.parametrize(
    ("stderr", "code"),
    [
        ("error: npm package 'x' does not exist.", "package_not_found"),
        ("error: npm package 'dep' does not exist.", "build_failed"),
        ("error: Could not find npm package 'x' matching '9'.", "version_not_found"),
        ("error: Could not find npm package 'dep' matching '9'.", "build_failed"),
        ("error sending request for url (http://r.test/x)", "registry_unreachable"),
        ("dns error: failed to lookup address information", "registry_unreachable"),
        ("No space left on device (os error 28)", "storage_full"),
        ("Tarball checksum did not match what was provided", "integrity_mismatch"),
        ("something new", "build_failed"),
    ],
)
def test_why_an_install_failed_is_named(stderr: str, code: str) -> None:
    error = npm.failure(stderr, "x", "9")
    assert error.code == code
    assert error.hint
