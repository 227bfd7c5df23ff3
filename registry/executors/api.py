"""Send the request of an HTTP tool through the guarded client."""

from functools import lru_cache

from django.conf import settings

from config.lib.host_patterns import host_matches
from config.lib.jsontext import storable
from config.lib.masking import Masker
from config.lib.types import JsonObject
from registry.api_definition import ApiDefinition, CallerAuth, parse
from registry.context import CallContext
from registry.errors import HostRefused, PermissionRefused, ToolError, ToolUnavailable
from registry.executors.api_answer import value_of
from registry.executors.api_request import Prepared, prepared
from registry.executors.base import Output, give_back_connection
from registry.outbound import Guard, fetch
from registry.outbound.guard import DEFAULT_PORT
from registry.specs import ToolSpec


class ApiExecutor:
    """The request goes out from this process; no code of a stranger's runs."""

    def execute(self, spec: ToolSpec, arguments: JsonObject, context: CallContext) -> Output:
        """Fill the templates, sign in, ask, and return what the answer is mapped to."""
        definition = _definition(spec)
        env = dict(context.env([variable.name for variable in spec.env]))
        ready = prepared(definition, storable(arguments), env)
        if isinstance(definition.auth, CallerAuth):
            _lend_token(ready, context)
        masker = Masker(ready.secrets)
        give_back_connection()
        guard = Guard(
            hosts=context.allowed_hosts if spec.package else None,
            max_bytes=definition.max_bytes,
        )
        try:
            answer = fetch(
                ready.request, seconds=spec.timeout_seconds, guard=guard, cancel=context.cancel
            )
            value = value_of(definition, answer, secrets=ready.secrets)
        except ToolError as error:
            error.message = masker.text(error.message)
            error.extra = masker.value(error.extra)
            raise
        return Output(value=masker.value(value))


def _lend_token(ready: Prepared, context: CallContext) -> None:
    """Put the caller's own token into the request, if its host is one that may see it.

    Over plain http only where the operator named the port, which nobody does by accident.
    """
    url = ready.request.url
    host, port = url.raw_host.decode("ascii"), url.port or DEFAULT_PORT[url.scheme]
    trusted = [p for p in settings.TRUSTED_TOKEN_HOSTS if host_matches(p, host, port)]
    if url.scheme == "http":
        trusted = [pattern for pattern in trusted if pattern.endswith(f":{port}")]
    if not trusted:
        raise HostRefused(
            f"The caller's token may not be sent to {url.scheme}://{host}:{port}.",
            "An operator names the services that may see it in TRUSTED_TOKEN_HOSTS.",
            host=host,
            port=port,
        )
    token = context.caller_token()
    if not token:
        raise PermissionRefused(
            "This tool sends the caller's own access token, and this call came without one.",
            "Call it through the REST API with an OAuth access token.",
        )
    ready.sign(f"Bearer {token}", token)


def _definition(spec: ToolSpec) -> ApiDefinition:
    if spec.definition is None:
        raise ToolUnavailable(f"{spec.label} has no request to send.", "Make the tool anew.")
    return _parsed(_Known(spec))


class _Known:
    """A spec that is hashed by the digest of all that it is, so that it is parsed once."""

    def __init__(self, spec: ToolSpec) -> None:
        self.spec = spec

    def __hash__(self) -> int:
        return hash(self.spec.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.spec.digest == other.spec.digest


@lru_cache(maxsize=1_000)
def _parsed(known: _Known) -> ApiDefinition:
    return parse(known.spec.definition)
