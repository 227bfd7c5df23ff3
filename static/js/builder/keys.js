// Keys of the builder: undo, redo, moving a step, and the palette. A text that is being typed keeps
// its own undo, as everywhere else.
import { form, stepOf } from "./form.js";
import { openPalette } from "./palette.js";
import { send } from "./saving.js";

const isText = (element) =>
  element.matches?.('textarea, input:not([type="checkbox"], [type="radio"], [type="hidden"]), [contenteditable]');

let touched = null; // the field whose own undo has something to take back
document.addEventListener("input", ({ target }) => {
  touched = target;
});
document.addEventListener("focusin", ({ target }) => {
  if (target !== touched) touched = null;
});

document.addEventListener("keydown", (event) => {
  if (!form() || event.isComposing || document.querySelector("dialog[open]")) return;
  const key = event.key.toLowerCase();
  if ((event.ctrlKey || event.metaKey) && !event.altKey && (key === "z" || key === "y")) {
    if (isText(event.target) && event.target === touched) return;
    event.preventDefault();
    press(key === "y" || event.shiftKey ? "redo" : "undo");
  } else if (event.altKey && !event.ctrlKey && !event.metaKey && (key === "arrowup" || key === "arrowdown")) {
    const step = stepOf(event.target);
    if (!step) return;
    event.preventDefault();
    const up = key === "arrowup";
    const beside = up ? step.previousElementSibling : step.nextElementSibling;
    if (beside) send(`move-${up ? "up" : "down"}-${step.dataset.step}`);
  } else if (key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isText(event.target)) {
    if (event.target.matches?.("select")) return;
    event.preventDefault();
    const step = stepOf(event.target);
    const steps = document.querySelectorAll("#builder [data-step]").length;
    openPalette(`insert-${step ? Number(step.dataset.step) + 1 : steps}`);
  }
});

function press(action) {
  const button = document.getElementById(action);
  // What was typed in the last moment is sent with it, and may be what is undone.
  if (!button.disabled || touched) send(action);
}
