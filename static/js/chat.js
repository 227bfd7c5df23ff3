// The page of a conversation; what is swapped in later works too, for each part listens on `document`.
import "./chat/announce.js";
import "./chat/calls.js";
import "./chat/drafts.js";
import "./chat/follow.js";
import "./chat/keys.js";
import "./chat/session.js";
import "./chat/streams.js";
import "./chat/waiting.js";

// On a narrow screen what stands beside the conversation stands before it: fold it there.
if (!matchMedia("(min-width: 75rem)").matches) {
  for (const list of document.querySelectorAll("[data-fold-narrow]")) {
    list.open = false;
  }
}
