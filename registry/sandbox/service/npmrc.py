"""What an npmrc file says: where the registry is, what opens it, through which proxy."""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_LINE = re.compile(r"^\s*([^=;#\s][^=]*?)\s*=\s*(.*?)\s*$")


@dataclass(frozen=True, slots=True)
class Npmrc:
    """The settings of one npmrc, with the environment's before them; secrets stay out of `repr`."""

    options: Mapping[str, str] = field(repr=False)

    def registry_of(self, name: str) -> str:
        """Return the address that serves a package, ending in a slash; empty when none is set."""
        scope = name.partition("/")[0] if name.startswith("@") else ""
        address = self.options.get(f"{scope}:registry", "") if scope else ""
        address = address or self.options.get("registry", "")
        return f"{address.rstrip('/')}/" if address else ""

    def headers_of(self, address: str) -> dict[str, str]:
        """Return what opens an address: of the settings for its host and path the nearest."""
        parts = urlsplit(address)
        where = f"//{parts.netloc}{parts.path}"
        while where.startswith("//") and len(where) > len("//"):
            for place in (f"{where.rstrip('/')}/", where.rstrip("/")):
                if found := self._authorization(place):
                    return {"Authorization": found}
            where = where.rstrip("/").rpartition("/")[0]
        return {}

    @property
    def proxy(self) -> str:
        """Return the proxy that the file names; the environment's are looked at elsewhere."""
        found = self.options.get("https-proxy") or self.options.get("proxy") or ""
        return "" if found in ("null", "false") else found

    def _authorization(self, place: str) -> str:
        if token := self.options.get(f"{place}:_authToken"):
            return f"Bearer {token}"
        if basic := self.options.get(f"{place}:_auth"):
            return f"Basic {basic}"
        user, secret = (self.options.get(f"{place}:{key}") for key in ("username", "_password"))
        if user and secret:
            try:
                plain = base64.b64decode(secret, validate=True).decode()
            except ValueError:
                return ""
            return f"Basic {base64.b64encode(f'{user}:{plain}'.encode()).decode()}"
        return ""


def read_npmrc(content: bytes, environment: Mapping[str, str]) -> Npmrc:
    """Read a file whose `${VARIABLES}` are filled in; NPM_CONFIG_REGISTRY wins, as with npm."""
    options = {}
    for line in content.decode("utf-8", errors="replace").splitlines():
        if found := _LINE.match(line):
            options[found[1]] = found[2].strip("\"'")
    if environment.get("NPM_CONFIG_REGISTRY"):
        options["registry"] = environment["NPM_CONFIG_REGISTRY"]
    return Npmrc(options)
