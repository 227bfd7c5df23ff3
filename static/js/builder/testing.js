// A test is of the draft as it is kept: what was typed last is saved first. The button that was
// pressed is noted, since htmx forgets it while the draft is being saved.
import { saved } from "./saving.js";

document.addEventListener(
  "submit",
  ({ target, submitter }) => {
    if (target.id !== "test-form") return;
    target.querySelector('input[name="do"]').value = submitter?.value ?? "";
    submitter?.closest("details[data-menu]")?.removeAttribute("open");
  },
  true,
);

document.addEventListener("htmx:confirm", (event) => {
  if (event.detail.elt.id !== "test-form") return;
  event.preventDefault();
  saved().then((kept) => kept && event.detail.issueRequest(true));
});

// Who tests from a step's menu wants to see what comes of it.
document.addEventListener("htmx:afterSettle", ({ detail }) => {
  const done = detail.requestConfig?.parameters?.do;
  const key = /^(?:step|until):(.+)$/.exec(done ?? "")?.[1];
  if (key) document.getElementById(`tested-${key}`)?.scrollIntoView({ block: "nearest" });
});
