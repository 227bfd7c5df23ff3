// The page of a run. It reads itself again when its stream says so, and now and then where the
// stream cannot be had. What is open stays open, what is being typed stays, and so does the focus.
const POLL_MS = 3000;

const section = () => document.querySelector("#run");
const isRun = ({ detail }) => detail.target === section();

let open = new Map();
let typed = new Map();
let focused = null;
let timer;

const fields = () => section().querySelectorAll("form :is(input:not([type=hidden]), textarea, select)[id]");

document.addEventListener("htmx:beforeSwap", (event) => {
  if (!isRun(event)) return;
  open = new Map([...section().querySelectorAll("details[id]")].map((each) => [each.id, each.open]));
  typed = new Map([...fields()].map((each) => [each.id, [each.value, each.checked]]));
  const { activeElement: active } = document;
  focused = section().contains(active) && active.id
    ? { id: active.id, start: active.selectionStart, end: active.selectionEnd }
    : null;
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (!isRun(event)) return;
  for (const each of section().querySelectorAll("details[id]")) {
    if (open.has(each.id)) each.open = open.get(each.id);
  }
  for (const each of fields()) {
    if (typed.has(each.id)) [each.value, each.checked] = typed.get(each.id);
  }
  const again = focused && document.getElementById(focused.id);
  if (!again || again === document.activeElement) return;
  again.focus({ preventScroll: true });
  if (focused.start != null) again.setSelectionRange(focused.start, focused.end);
});

const stop = () => {
  clearInterval(timer);
  timer = undefined;
};

document.addEventListener("htmx:sseError", () => {
  timer ??= setInterval(() => window.htmx.trigger("#run", "look"), POLL_MS);
});
document.addEventListener("htmx:responseError", stop); // signed out: the message says so once
document.addEventListener("htmx:sseOpen", stop);
document.addEventListener("htmx:sseClose", stop);
