// A test is of the draft as it is kept: what was typed last is saved first.
import { saved } from "./saving.js";

document.addEventListener("htmx:confirm", (event) => {
  if (event.detail.elt.id !== "test-form") return;
  event.preventDefault();
  saved().then((kept) => kept && event.detail.issueRequest(true));
});

// Who tests from a step's menu wants to see what comes of it.
document.addEventListener("submit", (event) => {
  if (event.target.id !== "test-form") return;
  event.submitter?.closest("details[data-menu]")?.removeAttribute("open");
  document.getElementById("test-panel")?.scrollIntoView({ block: "start", behavior: "smooth" });
});
