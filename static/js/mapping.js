// The picker, and the ways to mend a row: both fill in fields of the builder's form.
// The form itself saves and shows anew what changed, as if it had been typed.
const dialog = () => document.getElementById("picker");
const form = () => document.getElementById("builder");

// ---- opening: the content is asked for by the button, and shown when it is there
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id !== "picker-content") return;
  const filter = document.getElementById("picker-filter");
  filter.value = "";
  if (!dialog().open) dialog().showModal();
  filter.focus();
});

// ---- picking
document.addEventListener("click", (event) => {
  const toggle = event.target.closest("button.tree-toggle");
  if (toggle) return expand(toggle, toggle.getAttribute("aria-expanded") !== "true");
  const taken = event.target.closest("#picker [data-take]");
  if (taken) return take(taken);
  const fix = event.target.closest("[data-fix]");
  if (fix) return fill(fix.dataset.row, fix.dataset, "each" in fix.dataset);
});

function take(button) {
  const { row, field, mode } = button.closest(".picker-body").dataset;
  const section = button.closest("[data-store-field]");
  if (section) {
    const store = form().elements[section.dataset.storeField];
    if (store && !store.value.trim()) store.value = section.dataset.storeAs;
  }
  dialog().close();
  if (field) insert(document.getElementById(field), button.dataset, mode);
  else fill(row, button.dataset, "each" in button.dataset);
}

/** Say where the row's value comes from; or repeat its step for that list and take the item. */
function fill(row, { source, value, path }, each) {
  if (each) {
    const loop = row.replace(/-in-\d+$/, "-each");
    const now = rowOf(row);
    if (source === "item" && now.source !== "item") ({ source, value, path } = now);
    set(`${loop}-source`, source);
    set(`${loop}-value`, value);
    set(`${loop}-path`, path);
    [source, value, path] = ["item", "", ""];
  }
  set(`${row}-value`, value);
  set(`${row}-path`, path);
  const chosen = set(`${row}-source`, source);
  chosen.dispatchEvent(new Event("input", { bubbles: true }));
  chosen.dispatchEvent(new Event("change", { bubbles: true }));
}

function rowOf(row) {
  const value = (part) => form().elements[`${row}-${part}`]?.value ?? "";
  return { source: value("source"), value: value("value"), path: value("path") };
}

/** Fill a field of the form; one that is not shown for the present source is added unseen. */
function set(name, value) {
  let field = form().elements[name];
  if (!field) {
    field = Object.assign(document.createElement("input"), { type: "hidden", name });
    form().append(field);
  }
  if (field.tagName === "SELECT" && ![...field.options].some((option) => option.value === value)) {
    field.add(new Option(value, value));
  }
  field.value = value;
  return field;
}

/** Put what was picked into a text, at its cursor. */
function insert(field, { expression, condition }, mode) {
  const text = { condition, expression }[mode] ?? `{{ ${expression} }}`;
  field.focus();
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

// ---- the tree by keys: up and down go through what is shown, right and left open and close
const shown = (selector) =>
  [...document.querySelectorAll(`#picker-content ${selector}`)].filter((item) => item.offsetParent);

document.addEventListener("keydown", (event) => {
  if (!event.target.closest("#picker")) return;
  const takes = shown(".tree-take:not(:disabled)");
  const at = takes.indexOf(event.target);
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    if (at < 0 && event.target.id !== "picker-filter") return;
    event.preventDefault();
    takes[Math.max(at + (event.key === "ArrowDown" ? 1 : -1), 0)]?.focus();
  } else if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && at >= 0) {
    event.preventDefault();
    arrow(event.target, event.key === "ArrowRight");
  } else if (event.key === "Enter" && event.target.id === "picker-filter") {
    event.preventDefault();
    const found = takes.filter((item) => item.matches(".is-found"));
    (found.find((item) => !("all" in item.dataset)) ?? found[0])?.click();
  }
});

function arrow(item, open) {
  const toggle = item.parentElement.querySelector("button.tree-toggle");
  const isOpen = toggle?.getAttribute("aria-expanded") === "true";
  if (toggle && isOpen !== open) expand(toggle, open);
  else if (!open) item.closest("ul").closest("li")?.querySelector(".tree-take").focus();
}

function expand(toggle, open) {
  toggle.setAttribute("aria-expanded", String(open));
  const list = toggle.closest("li").querySelector(":scope > ul");
  list.hidden = !open;
}

// ---- finding: what matches is shown with all that it is in
document.addEventListener("input", (event) => {
  if (event.target.id !== "picker-filter") return;
  const words = event.target.value.trim().toLowerCase();
  for (const list of document.querySelectorAll("#picker-content .tree > li")) sift(list, words);
});

function sift(item, words) {
  const button = item.querySelector(":scope > .tree-row .tree-take");
  const list = item.querySelector(":scope > ul");
  const found = words !== "" && button.textContent.toLowerCase().includes(words);
  button.classList.toggle("is-found", found);
  let inside = false;
  for (const child of list?.children ?? []) inside = sift(child, words) || inside;
  const toggle = item.querySelector(":scope > .tree-row > button.tree-toggle");
  const top = item.parentElement.classList.contains("tree");
  if (toggle) expand(toggle, words === "" ? top : inside || top);
  item.hidden = words !== "" && !found && !inside && !top;
  return found || inside;
}

// ---- what was saved is checked too: the same message is told once
function sayOnce() {
  for (const problem of document.querySelectorAll("#builder .check-problem")) {
    const row = problem.closest(".row-check").id.replace(/-check$/, "");
    const told = document.querySelectorAll(`#${CSS.escape(row)}-error p`);
    problem.hidden = [...told].some((other) => other.textContent.trim() === problem.textContent.trim());
  }
}
for (const name of ["htmx:afterSwap", "htmx:oobAfterSwap"]) {
  document.addEventListener(name, () => queueMicrotask(sayOnce));
}
