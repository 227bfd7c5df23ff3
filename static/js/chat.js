// On a narrow screen the list of conversations stands before the conversation: fold it there.
for (const list of document.querySelectorAll("[data-fold-narrow]")) {
  list.open = matchMedia("(min-width: 75rem)").matches;
}

// A page with a conversation starts at what was said last.
if (document.querySelector("#thread > section")) {
  scrollTo({ top: document.documentElement.scrollHeight });
}
