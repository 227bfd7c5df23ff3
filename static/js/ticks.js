// What is ticked while a search is under way stays so: the rows that come know only what was ticked
// when they were asked for.
let shown = [];

document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.target.id === "tool-rows") shown = [...event.target.querySelectorAll("[type=checkbox]")];
});

document.addEventListener("htmx:afterSwap", (event) => {
  const rows = event.target;
  if (rows.id !== "tool-rows") return;
  const found = new Map([...rows.querySelectorAll("[type=checkbox]")].map((box) => [box.value, box]));
  for (const box of shown) {
    const same = found.get(box.value);
    if (same) same.checked = box.checked;
    else if (box.checked) rows.querySelector("ul").prepend(box.closest("li"));
  }
  shown = [];
});
