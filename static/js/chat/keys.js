// Escape stops the agent, where nothing else is there to be closed or given up.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
  if (document.querySelector("dialog[open], details.menu[open]")) return;
  if (document.activeElement?.closest("form:not(.composer)")) return;
  document.querySelector("#composer-controls [data-stop]")?.click();
});

// Once the agent is done the next message can be written, unless the reader is at something else.
document.addEventListener("htmx:oobAfterSwap", (event) => {
  if (event.target.id !== "composer-controls") return;
  if (document.activeElement !== document.body) return;
  document.getElementById("content")?.focus({ preventScroll: true });
});
