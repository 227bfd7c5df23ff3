"""Hold the requests of a page, to see what happens while they are under way."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from playwright.sync_api import Error, Page, Route

from tests.live import eventually


class Held:
    """The requests of a page to one address, from now until they are released."""

    def __init__(self, page: Page, address: str) -> None:
        self._page = page
        self._address = address
        self._routes: list[Route] = []
        page.route(address, self._keep)

    def _keep(self, route: Route) -> None:
        self._routes.append(route)

    def first(self) -> Route:
        """Return the first that came, once one did."""
        eventually(lambda: self._routes or self._page.wait_for_timeout(20), what=self._address)
        return self._routes[0]

    def alone(self) -> Route:
        """Return the first like `first`, and hold no other."""
        first = self.first()
        self._let_go(route for route in self._routes if route is not first)
        return first

    def release(self) -> None:
        """Let all go on once one came, and hold none that comes."""
        self.first()
        self._let_go(self._routes)

    def _let_go(self, routes: Iterable[Route]) -> None:
        self._page.unroute(self._address)
        for route in routes:
            with suppress(Error):  # the page may have given it up meanwhile
                route.continue_()
