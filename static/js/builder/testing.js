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

let asked = false;
document.addEventListener("htmx:confirm", (event) => {
  if (event.detail.elt.id !== "test-form") return;
  event.preventDefault();
  asked = true;
  saved().then((kept) => {
    if (kept) event.detail.issueRequest(true);
    else asked = false;
  });
});

// While a button's answer is on its way, nothing else may put another form in the place of this one.
const isRefresh = ({ detail }) => detail.requestConfig?.elt?.id === "test-refresh";
document.addEventListener("htmx:beforeSwap", (event) => {
  if (isRefresh(event) && asked) event.detail.shouldSwap = false;
});
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (detail.requestConfig?.elt?.id === "test-form") asked = false;
});

// What was sent comes back as the server has it; what was unfolded stays so, and where the draft was
// changed beside the tests, what is being typed in them too.
let restore = () => {};
document.addEventListener("htmx:beforeSwap", (event) => {
  if (isPanel(event)) restore = remember(event.detail.target, { typed: isRefresh(event) });
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
