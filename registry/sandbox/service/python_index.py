"""Where Python packages come from: the operator's pip and uv configuration."""

import configparser
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

CA_VARIABLES = ("SSL_CERT_FILE", "UV_SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE")
PASSED_VARIABLES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
    *("http_proxy", "https_proxy", "no_proxy", "all_proxy"),
    *("UV_DEFAULT_INDEX", "UV_INDEX_STRATEGY", "UV_HTTP_TIMEOUT", "UV_INSECURE_HOST"),
    *("UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "UV_KEYRING_PROVIDER"),
)
# pip's options, and uv's variables for the same.
INDEX, EXTRA_INDEXES, LINKS, TRUSTED = "index-url", "extra-index-url", "find-links", "trusted-host"
UV_NAMES = {INDEX: "UV_INDEX_URL", EXTRA_INDEXES: "UV_EXTRA_INDEX_URL", LINKS: "UV_FIND_LINKS"}
SECTIONS = ("global", "install", "download")
# Beside those that are passed on, what is read of the environment.
READ_VARIABLES = (
    *("PIP_CONFIG_FILE", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "NETRC", "UV_INDEX"),
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_TRUSTED_HOST", "PIP_TIMEOUT"),
    *UV_NAMES.values(),
)
CERTIFICATES = "/ca.pem"
NETRC = "/home/.netrc"


@dataclass(frozen=True, slots=True)
class PythonIndex:
    """What an install is shown: environment, files by their path inside, folders of the host."""

    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    folders: Mapping[str, Path] = field(default_factory=dict)


def index_of_operator(environment: Mapping[str, str] | None = None) -> PythonIndex:
    """Read the settings as the ordinary clients would.

    pip's configuration files (`[global]`, `[install]`), `PIP_*` and `UV_*` variables, of which uv's
    win; the CA bundle, proxies and `~/.netrc`. Folders of packages are shown at their own places.
    Call it before root is given up: later the files may not be readable.
    """
    env = os.environ if environment is None else environment
    options = _pip_options(env)
    shown = {name: env[name] for name in PASSED_VARIABLES if env.get(name)}
    folders: dict[str, Path] = {}
    for option, variable in UV_NAMES.items():
        places = env.get(variable, "").replace(",", " ").split() or options.get(option, [])
        kept = [place for place in places if _reachable(place, folders)]
        if kept:
            # uv reads a list of links with commas between, and of indexes with spaces.
            shown[variable] = ("," if option == LINKS else " ").join(kept)
    if options.get(EXTRA_INDEXES) and not env.get("UV_EXTRA_INDEX_URL"):
        # pip takes the best version of all its indexes; uv by itself asks only the first.
        shown.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")
    if "UV_DEFAULT_INDEX" in shown:
        shown.pop("UV_INDEX_URL", None)
    if env.get("UV_INDEX"):
        shown["UV_INDEX"] = env["UV_INDEX"]
    if TRUSTED in options and "UV_INSECURE_HOST" not in shown:
        shown["UV_INSECURE_HOST"] = " ".join(options[TRUSTED])
    files = {CERTIFICATES: _certificates(env, options), NETRC: _netrc(env)}
    if files[CERTIFICATES]:
        shown["SSL_CERT_FILE"] = CERTIFICATES
    if timeout := options.get("timeout") or options.get("default-timeout"):
        shown.setdefault("UV_HTTP_TIMEOUT", timeout[0])
    kept_files = {path: content for path, content in files.items() if content}
    return PythonIndex(shown, kept_files, folders)


def _pip_options(env: Mapping[str, str]) -> dict[str, list[str]]:
    """Return pip's options as lists of words; what is read later wins, as with pip."""
    options: dict[str, list[str]] = {}
    for path in _pip_files(env):
        parser = configparser.RawConfigParser()
        try:
            parser.read_string(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, configparser.Error):
            continue
        for section in SECTIONS:
            if parser.has_section(section):
                options |= {name: value.split() for name, value in parser.items(section)}
    for name, value in env.items():
        if name.startswith("PIP_") and value:
            options[name.removeprefix("PIP_").lower().replace("_", "-")] = value.split()
    return options


def _pip_files(env: Mapping[str, str]) -> Iterator[Path]:
    home = Path(env.get("HOME", "/"))
    if env.get("PIP_CONFIG_FILE") == os.devnull:
        return
    for folder in reversed(env.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":")):
        yield Path(folder) / "pip" / "pip.conf"
    yield Path("/etc/pip.conf")
    yield home / ".pip" / "pip.conf"
    yield Path(env.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf"
    if env.get("PIP_CONFIG_FILE"):
        yield Path(env["PIP_CONFIG_FILE"])


def _reachable(place: str, folders: dict[str, Path]) -> bool:
    """Tell whether a place can be used inside; a folder of the host is added to what is shown."""
    parts = urlsplit(place)
    if parts.scheme in ("http", "https"):
        return True
    if parts.scheme not in ("", "file"):
        return False
    path = Path(unquote(parts.path))
    if not path.is_absolute() or not path.is_dir():
        return False
    # An index's pages usually lead to files that lie beside it.
    shown = path.parent if path.name == "simple" else path
    folders[str(shown)] = shown
    return True


def _certificates(env: Mapping[str, str], options: Mapping[str, list[str]]) -> bytes:
    named = [env[name] for name in CA_VARIABLES if env.get(name)]
    paths = dict.fromkeys([*named, *options.get("cert", [])])
    return b"\n".join(filter(None, (_read(Path(path)) for path in paths)))


def _netrc(env: Mapping[str, str]) -> bytes:
    return _read(Path(env.get("NETRC") or Path(env.get("HOME", "/")) / ".netrc"))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
