// What is typed but not sent is kept for this tab, so that a reload or an ended session loses nothing.
const box = () => document.querySelector("#content[data-composer]");
const key = () => `draft:${location.pathname}`;

const store = (write) => {
  try {
    write(sessionStorage);
  } catch {
    // A browser may refuse storage; the text then lives as long as the page.
  }
};

export const keepDraft = () => store((place) => box()?.value && place.setItem(key(), box().value));

document.addEventListener("input", (event) => {
  if (event.target !== box()) return;
  if (event.target.value) keepDraft();
  else store((place) => place.removeItem(key()));
});

// A stop goes through the same form, and its answer is empty.
document.addEventListener("htmx:afterRequest", (event) => {
  const sent = event.detail.successful && event.detail.xhr.status !== 204;
  if (sent && event.target.matches?.(".composer")) store((place) => place.removeItem(key()));
});

// A message that was refused stands in the box already; what the server shows wins.
if (box() && !box().value) store((place) => (box().value = place.getItem(key()) ?? ""));
