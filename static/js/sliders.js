// A range input that moves the number beside it: <input type="range" data-slides="id of the number">.
// The number is what the form sends; the range has no name.
const numberOf = (slider) => document.getElementById(slider.dataset.slides);

const mark = (slider) => {
  const value = numberOf(slider).value;
  const changed = value !== "" && Number(value) !== Number(slider.dataset.inForce);
  slider.parentElement.classList.toggle("is-changed", changed);
};

document.addEventListener("input", (event) => {
  const slider = event.target;
  if (slider.matches("[data-slides]")) {
    numberOf(slider).value = slider.value;
    mark(slider);
    return;
  }
  const own = slider.id && document.querySelector(`[data-slides="${CSS.escape(slider.id)}"]`);
  if (!own) return;
  own.value = slider.value;
  mark(own);
});

// Back to the weights in force: <button data-reset-weights>.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-reset-weights]");
  if (!button) return;
  event.preventDefault();
  for (const slider of document.querySelectorAll("[data-slides]")) {
    slider.value = slider.dataset.inForce;
    numberOf(slider).value = slider.dataset.inForce;
    mark(slider);
  }
  button.dispatchEvent(new Event("input", { bubbles: true }));
});
