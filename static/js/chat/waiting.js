// A conversation that waits for its person says so in the tab's title.
const title = document.title;

const mark = () => {
  const waits = document.querySelector("[data-waiting]");
  document.title = waits ? `● Waiting for you · ${title}` : title;
  document.querySelector(".chat-side [aria-current] .dot")?.toggleAttribute("hidden", !waits);
};

// The line over the composer is for a reader who does not see the form itself.
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting } of entries) {
    document.getElementById("composer-waiting")?.toggleAttribute("hidden", isIntersecting);
  }
}, { rootMargin: "0px 0px -96px" }); // what lies behind the composer is not seen

const watch = () => {
  seen.disconnect();
  document.getElementById("composer-waiting")?.removeAttribute("hidden");
  const ask = document.querySelector("[data-ask] :is(.form-actions, .actions)");
  if (ask) seen.observe(ask);
};

mark();
watch();
document.addEventListener("htmx:oobAfterSwap", watch);
document.addEventListener("htmx:afterSwap", watch);
document.addEventListener("htmx:oobAfterSwap", mark);
document.addEventListener("htmx:afterSwap", mark);
