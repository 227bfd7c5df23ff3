// The builder keeps what is typed on the server only when a button is pressed: warn before it is lost.
let changed = false;
document.addEventListener("input", (event) => {
  if (event.target.closest("#builder")) changed = true;
});
document.addEventListener("click", (event) => {
  if (event.target.closest('#builder [value^="save"]')) changed = false;
});
// A form that was not saved is shown again with its problems.
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.xhr.status === 422) changed = true;
});
window.addEventListener("beforeunload", (event) => {
  if (changed) event.preventDefault();
});
// A folded list of inputs stays open while its own rows are filled in.
let open = [];
const folds = () => [...document.querySelectorAll("#builder details")];
const nameOf = (fold) => fold.id || fold.querySelector("[id]")?.id;
document.addEventListener("htmx:beforeSwap", () => {
  open = folds().filter((fold) => fold.open).map(nameOf);
});
document.addEventListener("htmx:afterSwap", () => {
  for (const fold of folds()) if (open.includes(nameOf(fold))) fold.open = true;
});
// What is typed while a request is under way would be swapped away: put it back into its field.
let typed = new Map();
document.addEventListener("htmx:beforeRequest", () => {
  typed = new Map();
});
document.addEventListener("input", (event) => {
  if (event.target.closest("#builder") && event.target.id) typed.set(event.target.id, event.target.value);
});
document.addEventListener("htmx:afterSwap", () => {
  for (const [id, value] of typed) {
    const field = document.getElementById(id);
    if (!field || field.value === value) continue;
    field.value = value;
    // Somebody who is still typing tells of the change by leaving the field; a choice is made at once.
    const typing = field === document.activeElement && field.tagName !== "SELECT";
    if (!typing) field.dispatchEvent(new Event("change", { bubbles: true }));
  }
});
