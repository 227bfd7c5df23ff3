import "./chat/streams.js";

// On a narrow screen what stands beside the conversation stands before it: fold it there.
if (!matchMedia("(min-width: 75rem)").matches) {
  for (const list of document.querySelectorAll("[data-fold-narrow]")) {
    list.open = false;
  }
}

// A page with a conversation starts at what was said last.
if (document.querySelector("#thread > section")) {
  scrollTo({ top: document.documentElement.scrollHeight });
}
