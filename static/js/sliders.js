// A range input that moves the number beside it: <input type="range" data-slides="id of the number">.
// The number is what the form sends; the range has no name.
const numberOf = (slider) => document.getElementById(slider.dataset.slides);

document.addEventListener("input", (event) => {
  const slider = event.target;
  if (slider.matches("[data-slides]")) {
    numberOf(slider).value = slider.value;
    return;
  }
  const own = slider.id && document.querySelector(`[data-slides="${CSS.escape(slider.id)}"]`);
  if (own) own.value = slider.value;
});

// Back to the weights in force: <button data-reset-weights>.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-reset-weights]");
  if (!button) return;
  event.preventDefault();
  for (const slider of document.querySelectorAll("[data-slides]")) {
    slider.value = slider.dataset.inForce;
    numberOf(slider).value = slider.dataset.inForce;
  }
  button.dispatchEvent(new Event("input", { bubbles: true }));
});
