// Follow a growing answer while the reader is at its end; else offer the way there.
const NEAR_END_PX = 120;
const page = document.documentElement;
const thread = document.querySelector("[data-follow]");
let following = true;
let unseen = false;

const atEnd = () => page.scrollHeight - page.clientHeight - page.scrollTop < NEAR_END_PX;

const toEnd = () => scrollTo({ top: page.scrollHeight, behavior: "instant" });

function offer() {
  const button = document.querySelector("[data-to-latest]");
  if (button) button.hidden = following || !unseen;
}

addEventListener(
  "scroll",
  () => {
    following = atEnd();
    if (following) unseen = false;
    offer();
  },
  { passive: true },
);

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-to-latest]")) return;
  following = true;
  unseen = false;
  toEnd();
  offer();
});

// A message that somebody has just sent is theirs to see.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.querySelector?.("[data-composer]")) following = true;
});

if (thread) {
  if (thread.querySelector(":scope > section") && !location.hash) toEnd();
  let height = page.scrollHeight;
  // What a reader unfolds grows the page too, and must not carry them away.
  let unfolded = 0;
  thread.addEventListener("click", (event) => {
    if (event.target.closest("summary")) unfolded = performance.now();
  });
  new ResizeObserver(() => {
    const grown = page.scrollHeight > height;
    height = page.scrollHeight;
    if (!grown || performance.now() - unfolded < 100) return;
    if (following) return toEnd();
    unseen = true;
    offer();
  }).observe(thread);
}
