// A session that has ended: say so where the message stands, keep the message, lead to the sign-in.
import { keepDraft } from "./drafts.js";

document.addEventListener("htmx:beforeOnLoad", (event) => {
  const { xhr } = event.detail;
  if (!xhr.getResponseHeader("HX-Session-Ended")) return;
  event.preventDefault();
  keepDraft();
  const notice = document.getElementById("session-ended").content.cloneNode(true);
  const link = notice.querySelector("a");
  link.href = `${link.pathname}?next=${encodeURIComponent(location.pathname)}`;
  document.getElementById("composer-error").replaceChildren(notice);
  link.focus();
});
