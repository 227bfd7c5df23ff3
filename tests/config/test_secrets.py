"""The product's own secrets."""

import stat
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from config.embedded.secrets import load_or_create

STRONG = "".join(map(chr, range(48, 110)))
DEPLOYED = {"DATABASE_URL": "postgresql://example.org/outfitter"}


@pytest.fixture(autouse=True)
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OUTFITTER_VAR", str(tmp_path))
    return tmp_path


def test_generated_secrets_stay_the_same_and_are_for_their_owner_alone(var: Path) -> None:
    assert load_or_create({}) == load_or_create({})
    assert stat.S_IMODE((var / "secrets.json").stat().st_mode) == 0o600


def test_the_environment_comes_before_the_generated_file() -> None:
    found = load_or_create({"SECRET_KEY": STRONG})
    assert found.secret_key == STRONG
    assert found.encryption_keys == load_or_create({}).encryption_keys


def test_a_deployment_reads_several_encryption_keys_in_order(var: Path) -> None:
    new, old = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    environ = {**DEPLOYED, "SECRET_KEY": STRONG, "OUTFITTER_ENCRYPTION_KEYS": f"{new}, {old}"}
    assert load_or_create(environ).encryption_keys == (new, old)
    assert not (var / "secrets.json").exists()


@pytest.mark.parametrize("key", ["", "short", "a" * 60, "django-insecure-" + STRONG])
def test_a_weak_or_missing_secret_key_is_refused(key: str) -> None:
    environ = {**DEPLOYED, "SECRET_KEY": key, "OUTFITTER_ENCRYPTION_KEYS": "x"}
    with pytest.raises(ImproperlyConfigured, match=r"SECRET_KEY is .* Make one with"):
        load_or_create(environ)


@pytest.mark.parametrize("keys", ["", "not-a-key", "é"])
def test_a_malformed_or_missing_encryption_key_is_refused_and_not_repeated(keys: str) -> None:
    environ = {**DEPLOYED, "SECRET_KEY": STRONG, "OUTFITTER_ENCRYPTION_KEYS": keys}
    with pytest.raises(ImproperlyConfigured, match="OUTFITTER_ENCRYPTION_KEYS is") as refused:
        load_or_create(environ)
    assert not keys or keys not in str(refused.value)


def test_a_damaged_file_is_named_and_not_replaced(var: Path) -> None:
    (var / "secrets.json").write_text("{")
    with pytest.raises(ImproperlyConfigured, match=r"secrets\.json cannot be read"):
        load_or_create({})
    assert (var / "secrets.json").read_text() == "{"
