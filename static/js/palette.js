// The command palette: Ctrl or Cmd and K opens it from anywhere, arrows choose, Enter goes there.
// The dialog element keeps the focus inside and gives it back when it closes.
const palette = () => document.getElementById("palette");
const input = () => document.getElementById("palette-q");
const entries = () => [...palette().querySelectorAll("[role=option]")];

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
    if (!palette()) return;
    event.preventDefault();
    if (palette().open) palette().close();
    else if (!document.querySelector("dialog[open]")) open();
  } else if (event.target.id === "palette-q" && !event.isComposing) {
    move(event);
  }
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-palette-close]")) palette().close();
  if (!event.target.closest("[data-palette]") || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  open();
});

document.addEventListener("mousemove", (event) => {
  const entry = event.target.closest?.("#palette [role=option]");
  if (entry && entry.ariaSelected !== "true") choose(entry);
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id !== "palette-results") return;
  for (const entry of entries()) entry.tabIndex = -1; // the arrows lead to them
  choose(input().value.trim() ? entries()[0] : null);
});

function open() {
  palette().showModal();
  input().select();
  input().dispatchEvent(new Event("palette:open"));
}

function move(event) {
  const all = entries();
  const at = all.findIndex((entry) => entry.ariaSelected === "true");
  const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? all.length - 1 : at - 1 + all.length }[event.key];
  if (to !== undefined && all.length) {
    event.preventDefault();
    choose(all[to % all.length]);
    all[to % all.length].scrollIntoView({ block: "nearest" });
  } else if (event.key === "Enter" && at >= 0) {
    event.preventDefault();
    all[at].click();
  }
}

function choose(entry) {
  for (const other of entries()) other.ariaSelected = String(other === entry);
  if (entry) input().setAttribute("aria-activedescendant", entry.id);
  else input().removeAttribute("aria-activedescendant");
}
