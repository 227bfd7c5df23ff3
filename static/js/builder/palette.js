// The palette of tools: opened by a button or “/”, arrows choose, Enter puts the tool in its place.
import { send } from "./saving.js";

const dialog = () => document.getElementById("step-palette");
const input = () => document.getElementById("step-palette-q");
const offers = () => [...dialog().querySelectorAll("[data-take]")];
let action = "";

export function openPalette(wanted) {
  action = wanted;
  input().value = "";
  dialog().showModal();
  input().dispatchEvent(new Event("palette:open"));
}

document.addEventListener("click", (event) => {
  const opener = event.target.closest?.("#builder [data-palette-at]");
  if (opener) {
    event.preventDefault();
    opener.closest("details[data-menu]")?.removeAttribute("open");
    openPalette(opener.dataset.paletteAt);
    return;
  }
  const offer = event.target.closest?.("#step-palette [data-take]");
  if (offer) take(offer);
});

document.addEventListener("mousemove", (event) => {
  const offer = event.target.closest?.("#step-palette [data-take]");
  if (offer && offer.ariaSelected !== "true") choose(offer);
});

document.addEventListener("keydown", (event) => {
  if (event.target.id !== "step-palette-q" || event.isComposing) return;
  const all = offers();
  const at = all.findIndex((offer) => offer.ariaSelected === "true");
  const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? all.length - 1 : at - 1 + all.length }[event.key];
  if (to !== undefined && all.length) {
    event.preventDefault();
    choose(all[to % all.length]);
    all[to % all.length].scrollIntoView({ block: "nearest" });
  } else if (event.key === "Enter") {
    event.preventDefault();
    if (at >= 0) take(all[at]);
  }
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target?.id === "step-palette-results") choose(offers()[0]);
});

function choose(offer) {
  for (const other of offers()) other.ariaSelected = String(other === offer);
  if (offer) input().setAttribute("aria-activedescendant", offer.id);
  else input().removeAttribute("aria-activedescendant");
}

function take(offer) {
  dialog().close();
  send(`${action}:${offer.dataset.take}`);
}
