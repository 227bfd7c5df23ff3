"""Every page, on one furnished product: nothing sideways, every control named, no script error."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page

from tests.browser.pages import every_page
from tests.browser.showroom import furnish

LOOK = """() => {
  const told = [], root = document.scrollingElement;
  if (root.scrollWidth > innerWidth) {
    const wide = [...document.querySelectorAll("main *, #container *")]
      .filter((item) => item.getBoundingClientRect().right > innerWidth + 1)
      .map((item) => item.tagName.toLowerCase() + "." + (item.getAttribute("class") ?? ""));
    told.push(`is ${root.scrollWidth} px wide: ${wide.slice(0, 4).join(", ")}`);
  }
  const headings = document.querySelectorAll("h1").length;
  if (headings !== 1) told.push(`has ${headings} h1`);
  const seen = new Set();
  for (const {id} of document.querySelectorAll("[id]")) {
    if (seen.has(id)) told.push(`has two #${id}`);
    seen.add(id);
  }
  const named = (item) => item.labels?.length || item.title || item.innerText?.trim()
    || item.getAttribute("aria-label") || item.getAttribute("aria-labelledby")
    || item.querySelector("[aria-label], title") || item.value && item.type === "submit";
  const controls = "a[href], button, select, textarea, summary, input:not([type=hidden])";
  for (const item of document.querySelectorAll(controls)) {
    if (item.checkVisibility() && !named(item)) told.push(`has no name for ${item.outerHTML}`);
  }
  for (const item of document.querySelectorAll("td > .actions > *")) {
    if (item.checkVisibility() && item.getBoundingClientRect().right > innerWidth) {
      told.push(`cuts off ${item.textContent.trim()}`);
    }
  }
  return told;
}"""


def test_no_page_is_wider_than_a_phone_or_leaves_a_control_unnamed(
    live: object, page: Page, sign_in: Callable[[str], None]
) -> None:
    pages = every_page(furnish())
    sign_in("admin")
    page.set_viewport_size({"width": 375, "height": 812})
    told = []
    for name, address in pages.items():
        answer = page.goto(address, wait_until="load")
        if answer is None or answer.status != 200:
            told.append(f"{name} ({address}) answers {answer and answer.status}")
            continue
        told += [f"{name} ({address}) {problem}" for problem in page.evaluate(LOOK)]
    assert not told, "\n".join(told)
