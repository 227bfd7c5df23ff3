// <button data-copy="#id"> copies the text of that element; <button data-copy> copies the <pre> beside it.
const SHOWN_MS = 1500;

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = button.dataset.copy
    ? document.querySelector(button.dataset.copy)
    : button.parentElement.querySelector("pre");
  const icon = button.querySelector("use");
  const copied = await write(source);
  icon.setAttribute("href", copied ? "#i-check" : "#i-alert");
  button.querySelector("[data-copy-status]").textContent = copied ? "Copied" : "Select and copy it";
  setTimeout(() => {
    icon.setAttribute("href", "#i-copy");
    button.querySelector("[data-copy-status]").textContent = "Copy";
  }, SHOWN_MS);
});

// The clipboard is refused outside https and localhost: select the text, so that Ctrl-C does it.
async function write(source) {
  try {
    await navigator.clipboard.writeText(source.value ?? source.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(source);
    return false;
  }
}
