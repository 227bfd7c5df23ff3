"""Check the parameters of a request; what is wrong raises `ServiceError` and repeats no value."""

from typing import Any

from config.lib.host_patterns import parse_host_pattern
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import CALL_SECONDS, MAX_CALL_SECONDS


def text(params: dict[str, Any], name: str) -> str:
    """Return a text that is not empty."""
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise ServiceError("invalid_request", f'"{name}" must be a text.')
    return value


def object_(params: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object; empty when it is not given."""
    value = params.get(name, {})
    if not isinstance(value, dict):
        raise ServiceError("invalid_request", f'"{name}" must be an object.')
    return value


def texts(params: dict[str, Any], name: str) -> tuple[str, ...]:
    """Return a list of texts; empty when it is not given."""
    values = params.get(name, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ServiceError("invalid_request", f'"{name}" must be a list of texts.')
    return tuple(values)


def hosts(params: dict[str, Any]) -> tuple[str, ...]:
    """Return the hosts of `network`, each in its one spelling."""
    try:
        return tuple(
            dict.fromkeys(str(parse_host_pattern(host)) for host in texts(params, "network"))
        )
    except ValueError as error:
        raise ServiceError("invalid_request", str(error)) from error


def environment(params: dict[str, Any]) -> dict[str, str]:
    """Return `env`, the variables of one call."""
    env = object_(params, "env")
    for name, value in env.items():
        if not name or "=" in name or "\0" in name:
            raise ServiceError("invalid_request", f'"{name[:80]}" cannot name a variable.')
        if not isinstance(value, str) or "\0" in value:
            raise ServiceError("invalid_request", f'The variable "{name[:80]}" must be a text.')
    return env


def number(params: dict[str, Any], name: str, default: float) -> float:
    """Return a number that is not below zero."""
    value = params.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise ServiceError("invalid_request", f'"{name}" must be a number, zero or more.')
    return float(value)


def seconds(
    params: dict[str, Any], name: str = "timeout_seconds", most: float = MAX_CALL_SECONDS
) -> float:
    """Return how long something may take."""
    value = number(params, name, CALL_SECONDS)
    if value == 0:
        raise ServiceError("invalid_request", f'"{name}" must be a number above zero.')
    return min(value, most)
