// Drag a step by its grip: a line shows where it would go, Escape or leaving it there changes nothing.
import { send } from "./saving.js";

const EDGE = 80; // pixels from the edge of the window within which the page moves along
const steps = () => [...document.querySelectorAll("#builder [data-step]")];
let drag = null;

document.addEventListener("pointerdown", (event) => {
  const grip = event.target.closest?.("#builder [data-grip]");
  if (!grip || event.button !== 0) return;
  event.preventDefault();
  const step = grip.closest("[data-step]");
  drag = { step, pointer: event.pointerId, from: Number(step.dataset.step), to: Number(step.dataset.step) };
  grip.setPointerCapture(event.pointerId);
  step.classList.add("is-dragged");
});

document.addEventListener("pointermove", (event) => {
  if (!drag || event.pointerId !== drag.pointer) return;
  if (event.clientY < EDGE) scrollBy(0, -12);
  else if (event.clientY > innerHeight - EDGE) scrollBy(0, 12);
  const others = steps().filter((step) => step !== drag.step);
  drag.to = others.filter((step) => middle(step) < event.clientY).length;
  unmark();
  if (drag.to === drag.from) return;
  if (drag.to < others.length) others[drag.to].classList.add("drop-before");
  else others.at(-1).classList.add("drop-after");
});

document.addEventListener("pointerup", (event) => {
  if (!drag || event.pointerId !== drag.pointer) return;
  const { from, to } = end();
  if (from !== to) send(`move-to-${from}-${to}`);
});

document.addEventListener("pointercancel", () => drag && end());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && drag) end();
});

const middle = (step) => {
  const box = step.getBoundingClientRect();
  return box.top + box.height / 2;
};

function unmark() {
  for (const step of steps()) step.classList.remove("drop-before", "drop-after");
}

function end() {
  const ended = drag;
  drag = null;
  unmark();
  ended.step.classList.remove("is-dragged");
  return ended;
}
