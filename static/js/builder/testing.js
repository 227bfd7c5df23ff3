// A test is of the draft as it is kept: what was typed last is saved first. The button that was
// pressed is noted, since htmx forgets it while the draft is being saved.
import { follow, remember } from "../live.js";
import { saved } from "./saving.js";

const isPanel = ({ detail }) => detail.target?.id === "test-panel";

follow("#test-results");

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

// What was sent comes back as the server has it; what was unfolded stays so.
let restore = () => {};
document.addEventListener("htmx:beforeSwap", (event) => {
  if (isPanel(event)) restore = remember(event.detail.target, { typed: false });
});
document.addEventListener("htmx:afterSettle", ({ detail }) => {
  const panel = document.getElementById("test-panel");
  if (detail.requestConfig?.target?.id !== "test-panel" || !panel) return;
  restore(panel);
  restore = () => {};
  // Who tests from a step's menu wants to see what comes of it.
  const key = /^(?:step|until):(.+)$/.exec(detail.requestConfig.parameters?.do ?? "")?.[1];
  if (key) document.getElementById(`tested-${key}`)?.scrollIntoView({ block: "nearest" });
});

// The picker and the checks beside the rows work with what the steps gave last.
let known;
document.addEventListener("htmx:afterSettle", () => {
  const now = document.querySelector("#test-results [data-outputs]")?.dataset.outputs;
  if (now === undefined || now === known) return;
  if (known !== undefined) document.body.dispatchEvent(new Event("outputs-changed"));
  known = now;
});
