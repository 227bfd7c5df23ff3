// Narrow a list of rows while typing: <div data-filter-list> with an <input data-filter> and <li> rows.
document.addEventListener("input", (event) => {
  if (!event.target.matches("[data-filter]")) return;
  const list = event.target.closest("[data-filter-list]");
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of list.querySelectorAll("[data-filter-rows] > li")) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    if (!row.hidden) shown += 1;
  }
  list.querySelector("[data-filter-none]").hidden = shown > 0;
});

// Enter in the filter would send the whole form.
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches?.("[data-filter]")) event.preventDefault();
});

// How many are chosen, told in words.
document.addEventListener("change", (event) => {
  const list = event.target.closest("[data-filter-list]");
  const count = list?.querySelector("[data-filter-count]");
  if (count) count.textContent = list.querySelectorAll("[data-filter-rows] :checked").length;
});
