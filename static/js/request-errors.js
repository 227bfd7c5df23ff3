// Say why an htmx request did not work: the server's own words where it sent them, else what to do next.
const MAX_SHOWN = 3;

const FALLBACK = {
  403: "You are not allowed to do that. Reload the page; if it stays so, ask the owner for access.",
  404: "That is no longer there. Reload the page to see what is.",
  409: "Someone changed this at the same time. Reload the page and try again.",
  429: "Too many requests in a short time. Wait a minute and try again.",
};

function explain(xhr) {
  if (xhr.getResponseHeader("Content-Type")?.includes("json")) {
    try {
      const { message, hint } = JSON.parse(xhr.responseText);
      if (message) return [message, hint].filter(Boolean).join(" ");
    } catch {
      // Not the product's error shape: the fallback below says it.
    }
  }
  return (
    FALLBACK[xhr.status] ??
    `The server could not do that (error ${xhr.status}). Nothing was lost here; try again in a moment.`
  );
}

function show(text) {
  const region = document.getElementById("messages");
  const toast = document.getElementById("request-error").content.cloneNode(true);
  toast.querySelector("[data-toast-text]").textContent = text;
  region.append(toast);
  while (region.querySelectorAll(".toast-error").length > MAX_SHOWN) {
    region.querySelector(".toast-error").remove();
  }
}

document.addEventListener("htmx:responseError", (event) => show(explain(event.detail.xhr)));

document.addEventListener("htmx:sendError", () =>
  show("The server could not be reached. Check your connection, then try again."),
);

document.addEventListener("htmx:timeout", () =>
  show("The server took too long to answer. Try again; what you typed is still here."),
);
