// What the parts of the builder know of its form.
export const form = () => document.getElementById("builder");

export const stepOf = (element) => element?.closest?.("#builder [data-step]") ?? null;

// A field's place in words that outlive a move of its step: the key of the step and the rest of its id.
export function placeOf(element) {
  if (!element?.id || !element.closest("#builder")) return null;
  const step = stepOf(element);
  if (!step) return { key: "", rest: element.id };
  return { key: step.dataset.key, rest: element.id.slice(`steps-${step.dataset.step}`.length) };
}

export function atPlace(place) {
  if (!place) return null;
  if (!place.key) return document.getElementById(place.rest);
  const step = document.querySelector(`#builder [data-key="${CSS.escape(place.key)}"]`);
  return step && document.getElementById(`steps-${step.dataset.step}${place.rest}`);
}
