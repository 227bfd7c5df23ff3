// <button data-dismiss=".selector"> removes the nearest such ancestor.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-dismiss]");
  button?.closest(button.dataset.dismiss)?.remove();
});

// Messages that leave by themselves do so by animation (feedback.css), which hover pauses.
document.addEventListener("animationend", (event) => {
  if (event.animationName === "toast-out") event.target.remove();
});
