// <details data-menu> closes when a person presses elsewhere, leaves it by keyboard, or presses Escape.
const closeAllBut = (kept) => {
  for (const menu of document.querySelectorAll("details[data-menu][open]")) {
    if (menu !== kept) menu.open = false;
  }
};

document.addEventListener("click", (event) => closeAllBut(event.target.closest("[data-menu]")));

document.addEventListener("focusin", (event) => closeAllBut(event.target.closest("[data-menu]")));

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.activeElement?.closest("details[data-menu][open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
