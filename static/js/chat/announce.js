// Tell a screen reader what is finished: whole answers, calls that ended, what waits for the person.
// Words that still come are left alone; they would be read over and over.
const LONGEST = 2000;
const told = new Set();

function tell(key, text) {
  const region = document.getElementById("thread-announcer");
  if (!region || told.has(key)) return;
  told.add(key);
  const line = document.createElement("p");
  line.textContent = text.replace(/\s+/g, " ").trim().slice(0, LONGEST);
  region.replaceChildren(line);
}

function look(element) {
  if (element.matches(".msg[data-said]")) tell(element.id, element.textContent);
  if (element.matches("[data-ask]")) tell(element.id, `Waiting for you: ${element.querySelector("h2").textContent}`);
  if (element.matches(".tool-card.is-failed")) {
    tell(`${element.id}-failed`, `${element.querySelector(".tool-card-name").textContent} failed`);
  }
}

const thread = document.getElementById("thread");
if (thread) {
  for (const element of thread.querySelectorAll("[id]")) told.add(element.id);
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) {
      for (const node of addedNodes) {
        if (node.nodeType !== Node.ELEMENT_NODE) continue;
        for (const element of [node, ...node.querySelectorAll("[id]")]) look(element);
      }
    }
  }).observe(thread, { childList: true, subtree: true });
}
