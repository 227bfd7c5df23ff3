// What is typed but not sent is kept for this tab, so that a reload or an ended session loses nothing.
const box = () => document.querySelector("#content[data-composer]");
const key = () => `draft:${location.pathname}`;

const store = (write) => {
  try {
    write(sessionStorage);
  } catch {
    // A browser may refuse storage; the text then lives as long as the page.
  }
};

export const keepDraft = () => store((place) => box()?.value && place.setItem(key(), box().value));

// So is what is typed into a request; a secret never is.
const asked = (field) =>
  field?.closest?.("[data-ask]") && field.id && field.matches("textarea, select, input:not([type=password])");
const isTicked = (field) => field.matches("[type=checkbox], [type=radio]");
const keyOf = (field) => `asked:${field.id}`;

document.addEventListener("input", (event) => {
  const field = event.target;
  if (asked(field)) {
    const value = isTicked(field) ? String(field.checked) : field.value;
    const others = field.type === "radio" ? field.form.querySelectorAll(`[name="${field.name}"]`) : [];
    store((place) => {
      for (const other of others) place.removeItem(keyOf(other));
      place.setItem(keyOf(field), value);
    });
  }
  if (field !== box()) return;
  if (field.value) keepDraft();
  else store((place) => place.removeItem(key()));
});

// The queue and a stop go through the same form, and leave what is written.
document.addEventListener("htmx:afterRequest", (event) => {
  const { successful, requestConfig } = event.detail;
  // a card that was answered has left the page, and the event comes from what stood around it
  const form = requestConfig.elt;
  if (!successful || !form.matches?.("form")) return;
  if (form.matches(".composer") && requestConfig.path === form.getAttribute("action")) {
    store((place) => place.removeItem(key()));
    keepDraft(); // of what was written meanwhile
  }
  if (form.matches(".ask-form")) {
    for (const field of form.elements) store((place) => place.removeItem(keyOf(field)));
  }
});

// A message that was refused stands in the box already; what the server shows wins.
if (box() && !box().value) store((place) => (box().value = place.getItem(key()) ?? ""));

for (const field of document.querySelectorAll("[data-ask] :is(input, textarea, select)")) {
  if (!asked(field)) continue;
  store((place) => {
    const kept = place.getItem(keyOf(field));
    if (kept === null) return;
    if (isTicked(field)) field.checked = kept === "true";
    else field.value = kept;
    const fold = field.closest("details");
    if (fold && kept) fold.open = true;
  });
}
