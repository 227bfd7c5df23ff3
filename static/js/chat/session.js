// A session that has ended: say so where the message stands, keep what is typed, lead to the sign-in.
import { keepDraft } from "./drafts.js";

function say() {
  const place = document.getElementById("composer-error");
  if (place.querySelector(".session-ended")) return null;
  keepDraft();
  const notice = document.getElementById("session-ended").content.cloneNode(true);
  const link = notice.querySelector("a");
  link.href = `${link.pathname}?next=${encodeURIComponent(location.pathname)}`;
  place.replaceChildren(notice);
  return link;
}

document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (!event.detail.xhr.getResponseHeader("HX-Session-Ended")) return;
  event.preventDefault();
  const link = say() ?? document.querySelector("#composer-error .session-ended a");
  link.focus();
});

// A stream that is refused is opened again and again, unless it names no address any more. An
// EventSource does not say why it was refused, so the page's own address is asked.
document.addEventListener("htmx:sseError", async ({ target, detail }) => {
  if (detail.source?.readyState !== EventSource.CLOSED) return;
  const stream = target.closest("[sse-connect]");
  if (!stream) return;
  let answer;
  try {
    answer = await fetch(location.pathname, { method: "HEAD", headers: { "HX-Request": "true" } });
  } catch {
    return; // the server is away: the stream is taken up when it is back
  }
  if (!answer.headers.has("HX-Session-Ended")) return;
  for (const each of document.querySelectorAll("[sse-connect]")) each.removeAttribute("sse-connect");
  say();
});
