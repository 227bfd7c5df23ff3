"""Which version of the REST API answers, and how something in it is said to end.

A view, or one of its methods, that is to go says so: `deprecation = Deprecation(…)` on the view.
Its answers then have `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and a `Link` to what to use
instead, and the OpenAPI document marks it. See docs/reference/api.md for the promise.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils.http import http_date

PREFIX = "/api/v1/"
VERSION = "1"
NOTICE = timedelta(days=180)
"""How long something that is deprecated keeps working at least."""


@dataclass(frozen=True, kw_only=True)
class Deprecation:
    """From when on something is deprecated, when it ends at the earliest, and where to read on."""

    since: datetime
    sunset: datetime
    link: str = "/api/docs/"

    def __post_init__(self) -> None:
        if self.sunset - self.since < NOTICE:
            raise ValueError(f"What is deprecated works on for {NOTICE.days} days at least.")

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that tell a client."""
        return {
            "Deprecation": f"@{int(self.since.astimezone(UTC).timestamp())}",
            "Sunset": http_date(self.sunset.timestamp()),
            "Link": f'<{self.link}>; rel="deprecation"; type="text/html"',
        }


def deprecation_of(view: object, method: str) -> Deprecation | None:
    """Return what is said of a view's method, for a view class or an instance of it."""
    told = getattr(view, "deprecation", None)
    if isinstance(told, dict):
        told = told.get(method.upper())
    return told if isinstance(told, Deprecation) else None
