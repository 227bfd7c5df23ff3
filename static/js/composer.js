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

// The sent text leaves the box once the server has taken it.
document.addEventListener("htmx:afterRequest", (event) => {
  const box = event.target.querySelector?.("[data-composer]");
  if (!box || !event.detail.successful) return;
  // its other buttons, such as those of the queue, leave what is written
  if (event.detail.requestConfig.path !== event.target.getAttribute("action")) return;
  box.value = "";
  box.style.height = "";
  box.focus();
});
