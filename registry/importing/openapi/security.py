"""The sign-ins of a document's operations, and the variables whose values they send."""

from dataclasses import dataclass, field

from config.lib.types import JsonObject, JsonValue
from registry.importing.openapi.document import place
from registry.importing.openapi.naming import variable_name
from registry.importing.openapi.references import CannotTakeError, References

LONGEST_DESCRIPTION = 400


@dataclass(frozen=True, kw_only=True)
class SignIn:
    """What an operation's definition says of its sign-in: `auth`, `moreAuth`, `signInOptional`."""

    parts: JsonObject = field(default_factory=dict)
    secured: frozenset[tuple[str, str]] = frozenset()
    """`(place, name in lower case)` of the parameters that the sign-in itself sends."""


class Security:
    """The security schemes of one document."""

    def __init__(self, references: References, package: str) -> None:
        self._references = references
        self._package = package
        self._document = references.document
        self._known: dict[str, JsonObject] = {}
        self._taken: set[str] = set()
        self.variables: dict[str, JsonObject] = {}
        """Name → `{name, description, required}` of those that some sign-in reads."""
        for name in self._schemes():  # in the document's order, so that names stay the same
            try:
                self._known[name] = self._auth(name)
            except CannotTakeError:
                continue

    def sign_in(self, operation: JsonObject, path: str) -> SignIn:
        """Return the first way to sign in that can be sent; raise CannotTakeError if none can."""
        where = f"{path}.security" if "security" in operation else "$.security"
        asked = operation.get("security", self._document.get("security"))
        if not asked:
            return SignIn()
        if not isinstance(asked, list) or not all(isinstance(item, dict) for item in asked):
            raise CannotTakeError(where, "This must be a list of requirements.")
        refused: CannotTakeError | None = None
        for index, requirement in enumerate(asked):
            try:
                auths = [self._scheme(name, f"{where}[{index}]") for name in requirement]
            except CannotTakeError as error:
                refused = refused or error
                continue
            if auths:
                return self._told(auths, optional={} in asked)
        if {} in asked:
            return SignIn()
        raise refused or CannotTakeError(where, "No way to sign in is named.")

    def _told(self, auths: list[JsonObject], *, optional: bool) -> SignIn:
        parts: JsonObject = {"auth": auths[0]}
        if auths[1:]:
            parts["moreAuth"] = auths[1:]
        if optional:
            parts["signInOptional"] = True
        secured = {(auth["type"], auth["name"].lower()) for auth in auths if "name" in auth}
        return SignIn(parts=parts, secured=frozenset(secured))

    def _schemes(self) -> JsonObject:
        components = self._document.get("components", {})
        schemes = components.get("securitySchemes", {}) if isinstance(components, dict) else {}
        return schemes if isinstance(schemes, dict) else {}

    def _scheme(self, name: str, path: str) -> JsonObject:
        if name not in self._schemes():
            raise CannotTakeError(
                path, f"The security scheme “{name[:80]}” is not in the document."
            )
        if name not in self._known:
            self._auth(name)  # raises what is wrong with it
        return self._known[name]

    def _auth(self, name: str) -> JsonObject:
        path = place("components", "securitySchemes", name)
        scheme = self._references.followed(self._schemes()[name], path)
        described = scheme.get("description")
        told = (
            " ".join(described.split())[:LONGEST_DESCRIPTION] if isinstance(described, str) else ""
        )
        match scheme.get("type"):
            case "apiKey":
                return self._api_key(name, scheme, path, told)
            case "http":
                return self._http(name, scheme, path, told)
            case "oauth2" | "openIdConnect":
                words = f"An access token of the API. {told}"
                return {"type": "bearer", "env": self._variable(name, "TOKEN", words)}
        raise CannotTakeError(
            f"{path}.type", f"A sign-in of type “{_short(scheme.get('type'))}” cannot be sent."
        )

    def _api_key(self, name: str, scheme: JsonObject, path: str, told: str) -> JsonObject:
        where, key = scheme.get("in"), scheme.get("name")
        if where not in ("header", "query", "cookie"):
            raise CannotTakeError(f"{path}.in", "A key goes in a header, the query or a cookie.")
        if not isinstance(key, str) or not key:
            raise CannotTakeError(f"{path}.name", "This must name where the key goes.")
        spoken = {"query": "query parameter"}.get(where, where)
        ending = "API_KEY" if "key" in f"{name}{key}".lower() else "TOKEN"
        variable = self._variable(name, ending, f"The key sent as the {spoken} {key}. {told}")
        return {"type": where, "env": variable, "name": key}

    def _http(self, name: str, scheme: JsonObject, path: str, told: str) -> JsonObject:
        match str(scheme.get("scheme", "")).lower():
            case "bearer":
                words = f"The token sent as “Authorization: Bearer …”. {told}"
                return {"type": "bearer", "env": self._variable(name, "TOKEN", words)}
            case "basic":
                user = self._variable(name, "USERNAME", f"The user name. {told}")
                password = self._variable(name, "PASSWORD", f"The password. {told}")
                return {"type": "basic", "env": password, "usernameEnv": user}
        raise CannotTakeError(
            f"{path}.scheme",
            f"The HTTP sign-in “{_short(scheme.get('scheme'))}” cannot be sent; "
            "bearer and basic can.",
        )

    def _variable(self, scheme: str, ending: str, description: str) -> str:
        name = variable_name(self._package, scheme, ending, self._taken)
        self.variables[name] = {
            "name": name,
            "description": description.strip(),
            "required": False,  # each tool needs only those of its own sign-in
        }
        return name


def _short(value: JsonValue) -> str:
    return str(value)[:40]
