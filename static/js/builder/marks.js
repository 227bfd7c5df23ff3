// After a save its answer tells every problem by the id of the element that shows it: put each beside
// its field. The fields themselves are left alone.
const marks = () => JSON.parse(document.getElementById("marks")?.textContent ?? "{}");

document.addEventListener("htmx:oobAfterSwap", (event) => {
  if (event.detail.target?.id === "draft-problems") show(marks());
});

function show(told) {
  for (const place of document.querySelectorAll('#builder [id$="-error"]')) {
    if (!(place.id in told)) clear(place);
  }
  for (const [id, messages] of Object.entries(told)) tell(id, messages);
  for (const step of document.querySelectorAll("#builder [data-step]")) count(step, told);
}

const fieldOf = (id) => {
  const name = id.slice(0, -"-error".length);
  return ["", "-value", "-source", "-name"].map((end) => document.getElementById(name + end)).find(Boolean);
};

function clear(place) {
  place.replaceChildren();
  fieldOf(place.id)?.removeAttribute("aria-invalid");
}

function tell(id, messages) {
  const place = document.getElementById(id) ?? made(id);
  if (!place) return;
  place.replaceChildren(
    ...messages.map((message) => Object.assign(document.createElement("p"), { textContent: message })),
  );
  const field = fieldOf(id);
  if (!field) return;
  field.setAttribute("aria-invalid", "true");
  if (!field.getAttribute("aria-describedby")?.includes(id)) {
    field.setAttribute("aria-describedby", [field.getAttribute("aria-describedby"), id].filter(Boolean).join(" "));
  }
}

function made(id) {
  const body = id.match(/^(steps-\d+)-other-error$/);
  const parent = body ? document.getElementById(`${body[1]}-body`) : fieldOf(id)?.closest(".field, .mapping > li, .step-body");
  if (!parent) return null;
  const place = Object.assign(document.createElement("div"), { id, className: "field-errors" });
  if (body) parent.prepend(place);
  else parent.append(place);
  return place;
}

function count(step, told) {
  const prefix = `steps-${step.dataset.step}-`;
  const mine = Object.entries(told).filter(([id]) => id.startsWith(prefix));
  const number = mine.reduce((sum, [, messages]) => sum + messages.length, 0);
  step.classList.toggle("has-errors", number > 0);
  const badge = step.querySelector("[data-error-count]");
  badge.hidden = number === 0;
  badge.textContent = `${number} to mend`;
}
