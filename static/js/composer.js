// The chat composer: Enter sends, Shift+Enter makes a new line, the box grows with its text.
document.addEventListener("keydown", (event) => {
  if (!event.target.matches?.("[data-composer]") || event.key !== "Enter") return;
  // An input method uses Enter to accept a word.
  if (event.shiftKey || event.isComposing) return;
  event.preventDefault();
  const submit = event.target.form.querySelector(".composer-box [type=submit]");
  if (event.target.value.trim() && !submit?.disabled) event.target.form.requestSubmit(submit);
});

const grow = (box) => {
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight}px`;
};

if (!CSS.supports("field-sizing", "content")) {
  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-composer]")) grow(event.target);
  });
}

// The text leaves the box as it is sent, so that the next can be written; one that was not taken is
// put back before it. The form's other buttons, such as those of the queue, leave what is written.
const boxOf = ({ target, detail }) => {
  const sends = detail.requestConfig.path === target.getAttribute("action");
  return sends ? target.querySelector("[data-composer]") : null;
};
const sent = new WeakMap();

document.addEventListener("htmx:beforeSend", (event) => {
  const box = boxOf(event);
  if (!box) return;
  sent.set(box, box.value);
  box.value = "";
  box.style.height = "";
});

document.addEventListener("htmx:afterRequest", (event) => {
  const box = boxOf(event);
  if (!box) return;
  if (!event.detail.successful) box.value = [sent.get(box), box.value].filter(Boolean).join("\n\n");
  sent.delete(box);
  box.focus();
});
