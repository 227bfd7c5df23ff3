// Somebody saved the same draft meanwhile: the answer (409) is the choice, shown over the page.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { detail } = event;
  if (detail.xhr.status !== 409 || detail.requestConfig.elt?.id !== "builder") return;
  if (!detail.xhr.getResponseHeader("Content-Type")?.includes("html")) return;
  detail.shouldSwap = true;
  detail.isError = false;
  detail.target = document.getElementById("conflict");
  detail.swapOverride = "innerHTML";
});

document.addEventListener("htmx:afterSwap", (event) => {
  const dialog = document.getElementById("conflict");
  if (event.detail.xhr.status === 409 && event.detail.target === dialog && !dialog.open) dialog.showModal();
});
