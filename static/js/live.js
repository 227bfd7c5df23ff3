// A part of a page that reads itself again when its stream says so, and now and then where the
// stream cannot be had. What is open stays open, what is being typed stays, and so does the focus.
const POLL_MS = 3000;
const FIELDS = "form :is(input:not([type=hidden]), textarea, select)[id]";

const isChanged = (field) => {
  if (field.options) return [...field.options].some((each) => each.selected !== each.defaultSelected);
  return field.value !== field.defaultValue || Boolean(field.checked) !== Boolean(field.defaultChecked);
};

// Returns what puts back, into the part as it then is, what a person had done in it.
export function remember(part, { typed = true } = {}) {
  const open = new Map([...part.querySelectorAll("details[id]")].map((each) => [each.id, each.open]));
  const fields = typed ? [...part.querySelectorAll(FIELDS)].filter(isChanged) : [];
  const values = fields.map((each) => [each.id, each.value, each.checked]);
  const { activeElement: active } = document;
  const at = part.contains(active) && active.id ? [active.id, active.selectionStart, active.selectionEnd] : null;
  return (now) => {
    for (const each of now.querySelectorAll("details[id]")) {
      if (open.has(each.id)) each.open = open.get(each.id);
    }
    for (const [id, value, checked] of values) {
      const field = document.getElementById(id);
      if (field) [field.value, field.checked] = [value, checked];
    }
    const again = at && document.getElementById(at[0]);
    if (!again) return;
    if (again !== document.activeElement) again.focus({ preventScroll: true });
    if (at[1] != null) again.setSelectionRange(at[1], at[2]); // a value put back leaves the caret at its end
  };
}

export function follow(selector) {
  const isMine = ({ detail }) => detail.target?.matches(selector);
  let restore = () => {};
  let timer;

  const stop = () => {
    clearInterval(timer);
    timer = undefined;
  };

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (isMine(event)) restore = remember(event.detail.target);
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (isMine(event)) restore(event.detail.target);
  });
  document.addEventListener("htmx:sseError", () => {
    timer ??= setInterval(() => {
      const part = document.querySelector(selector);
      if (part) window.htmx.trigger(part, "look");
    }, POLL_MS);
  });
  document.addEventListener("htmx:responseError", stop); // signed out: the message says so once
  document.addEventListener("htmx:sseOpen", stop);
  document.addEventListener("htmx:sseClose", stop);
}
