// Every change is sent, one request after the other, so that none overtakes another and each begins
// from the state that the one before it left. What is being typed stays: a save swaps in no field.
import { atPlace, form, placeOf } from "./form.js";
import { keyboard, takeBack } from "./keyboard.js";

const PAUSE_MS = 600;
const RETRY_MS = [2000, 5000, 15000];

const waiting = []; // actions; "" is a save
let busy = false;
let renewing = false; // the form that is shown is about to go
let timer = 0; // until a pause in typing is long enough
let again = 0; // until the next attempt of what could not be sent
let failures = 0;
let typed = new Map(); // what was typed since the request began, by its field's place

export function send(action) {
  clearTimeout(timer);
  if (action === "" && waiting.includes("")) return;
  waiting.push(action);
  if (!failures) work();
}

async function work() {
  if (busy || !waiting.length || !form()) return;
  clearTimeout(again);
  busy = true;
  const action = waiting.shift();
  const answer = await request(action);
  busy = false;
  if (answer === "lost") {
    retry(action);
    return;
  }
  failures = 0;
  if (answer === "ok") {
    trouble("");
    work();
  } else {
    // Refused or in conflict: what waits would meet the same; the next change or choice sends anew.
    waiting.length = 0;
  }
}

function request(action) {
  typed = new Map();
  const whole = action !== "";
  renewing = whole;
  const before = keyboard();
  let last = null;
  let answer = "lost";
  const note = ({ detail }) => {
    if (detail.target?.id !== "builder" && detail.elt?.id !== "builder") return;
    const status = detail.xhr?.status ?? 0;
    if ((status >= 200 && status < 300) || status === 422) answer = "ok";
    else if (status === 409) answer = "conflict";
    else if (status >= 400 && status < 500 && status !== 429) answer = "refused";
  };
  document.addEventListener("htmx:afterRequest", note);
  const leave = ({ detail }) => {
    if (detail.target?.id !== "builder") return;
    last = keyboard();
    renewing = false;
    forget();
  };
  if (whole) document.addEventListener("htmx:beforeSwap", leave);
  const opened = whole ? openFolds() : [];
  return htmx
    .ajax("POST", form().getAttribute("action"), {
      source: form(),
      target: "#builder",
      swap: whole ? "innerHTML show:none" : "none",
      values: { action },
    })
    .catch(() => {})
    .then(() => {
      renewing = false;
      document.removeEventListener("htmx:afterRequest", note);
      document.removeEventListener("htmx:beforeSwap", leave);
      if (whole && answer === "ok") {
        reopen(opened);
        restore();
        takeBack(before, last);
      }
      if (answer === "ok") document.body.dispatchEvent(new Event("draft-kept"));
      return answer;
    });
}

function retry(action) {
  waiting.unshift(action);
  const pause = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)];
  failures += 1;
  trouble("Not saved: the server cannot be reached. What you typed is still here; it is sent again by itself.");
  again = setTimeout(work, pause);
}

addEventListener("online", () => {
  if (failures) work();
});

function trouble(text) {
  const line = document.querySelector("[data-draft-trouble]");
  if (line && line.textContent !== text) line.textContent = text;
}

// What is asked about the rows is of the form that goes; the one that comes asks anew.
const forget = () => htmx.trigger(form().closest(".builder-page"), "htmx:abort");

// Nor is it asked meanwhile: the answer may tell of rows that are not shown yet.
document.addEventListener("htmx:confirm", (event) => {
  if (event.detail.elt.id === "all-checks" && renewing) event.preventDefault();
});

// What was typed meanwhile would be swapped away: put it back, which tells it like typing.
function restore() {
  let left = false;
  for (const [place, value] of typed) {
    const field = atPlace(JSON.parse(place));
    if (!field || field.value === value) continue;
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    // Its old field is gone, and with it what leaving that one would have told.
    left ||= field.matches("[data-refresh]");
  }
  typed = new Map();
  if (left) send("refresh");
}

// A list that was unfolded stays so.
const openFolds = () =>
  [...form().querySelectorAll("details[open]:not([data-menu]) > summary[id]")].map(placeOf);

function reopen(places) {
  for (const place of places) {
    const summary = atPlace(place);
    if (summary) summary.parentElement.open = true;
  }
}

// Resolves once all changes are kept; false where they cannot be.
export async function saved() {
  if (timer) send("");
  while (busy || waiting.length) {
    if (failures) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return !failures;
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(() => send(""), PAUSE_MS);
}

const isField = (element) => element.name && element.closest?.("#builder");

document.addEventListener("input", ({ target }) => {
  if (!isField(target)) return;
  if (busy && target.id && target.type !== "checkbox") typed.set(JSON.stringify(placeOf(target)), target.value);
  if (!failures) later();
});

document.addEventListener("change", ({ target }) => {
  if (isField(target)) send(target.matches("[data-refresh]") ? "refresh" : "");
});

document.addEventListener("submit", (event) => {
  if (event.target.id !== "builder") return;
  event.preventDefault();
  const action = event.submitter?.value ?? "";
  if (event.submitter?.matches("[data-palette-at]")) return; // the palette asks first
  event.submitter?.closest("dialog")?.close();
  send(action === "save" ? "" : action);
});

// Folding is seen at once; the draft remembers it.
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("#builder [data-fold]");
  if (!button) return;
  event.preventDefault();
  const step = button.closest("[data-step]");
  const body = document.getElementById(button.getAttribute("aria-controls"));
  body.hidden = !body.hidden;
  button.ariaExpanded = String(!body.hidden);
  step.querySelector('[name$="-collapsed"]').value = body.hidden ? "1" : "";
  send("");
});

addEventListener("beforeunload", (event) => {
  if (failures || busy || waiting.length) event.preventDefault();
});

// Leaving at once is no reason to lose the last words.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden" && timer && form() && !failures) send("");
});

// Somebody may have typed before this was loaded.
const isChanged = (field) =>
  field.type === "checkbox" ? field.checked !== field.defaultChecked : (field.defaultValue ?? field.value) !== field.value;

const early = [...(form()?.elements ?? [])].filter((field) => field.name && field.type !== "hidden" && isChanged(field));
if (early.some((field) => field.matches("[data-refresh]") && field !== document.activeElement)) send("refresh");
else if (early.length) later();
