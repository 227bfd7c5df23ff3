// A conversation that waits for its person says so in the tab's title.
const title = document.title;

const mark = () => {
  const waits = document.querySelector("[data-waiting]");
  document.title = waits ? `● Waiting for you · ${title}` : title;
};

mark();
document.addEventListener("htmx:oobAfterSwap", mark);
document.addEventListener("htmx:afterSwap", mark);
