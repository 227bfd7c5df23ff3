// Tool calls: time that ticks while one runs, groups that fold up once the agent went on.
const TICK_MS = 100;
const started = new WeakMap();

const words = (ms) => {
  if (ms < 1000) return `${Math.round(ms / 100) * 100} ms`;
  return ms < 120_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;
};

// The server says for how long it has run by now, so that no two clocks need to agree.
setInterval(() => {
  if (document.hidden) return;
  for (const time of document.querySelectorAll("[data-elapsed]")) {
    if (!started.has(time)) started.set(time, performance.now() - Number(time.dataset.elapsed));
    time.textContent = words(performance.now() - started.get(time));
  }
}, TICK_MS);

// A group that somebody looks into stays open.
const lookedInto = new WeakSet();
document.addEventListener("click", (event) => {
  const group = event.target.closest(".tool-group");
  if (group) lookedInto.add(group);
});

document.addEventListener("htmx:oobAfterSwap", (event) => {
  if (!event.target.matches?.("summary[data-folds]")) return;
  const group = event.target.parentElement;
  if (!lookedInto.has(group) && !group.contains(document.activeElement)) group.open = false;
});
