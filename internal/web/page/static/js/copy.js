// Copy buttons in the log of a run: for the command and the output of a call once it is
// unfolded, and for a message that somebody is at. Most of a log needs none.
"use strict";
(() => {
  const log = document.getElementById("log");
  if (!log) return;
  const button = (name, from) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "quiet small";
    made.dataset.copy = "";
    made.copyFrom = from;
    made.append(document.createElement("span"));
    made.firstChild.textContent = `Copy ${name}`;
    return made;
  };
  const prepareCall = (details) => {
    if (details.querySelector(":scope > .copies")) return;
    const box = document.createElement("div");
    box.className = "copies";
    if (details.parentElement.matches(".k-commands")) { // a short one stands in the summary alone
      box.append(button("command", () => details.querySelector("pre.command") ?? details.querySelector("summary .summary")));
    }
    box.append(button("output", () => details.querySelector(".rows")));
    details.querySelector("summary").after(box);
  };
  const isCall = (details) => details.parentElement?.dataset.call !== undefined;
  log.addEventListener("toggle", (event) => { if (event.target.open && isCall(event.target)) prepareCall(event.target); }, true);
  for (const details of log.querySelectorAll("details[open]")) if (isCall(details)) prepareCall(details);

  const prepareMessage = (event) => {
    const item = event.target.closest?.(".item.message");
    const by = item?.querySelector(".by");
    if (by && !by.querySelector("[data-copy]")) by.append(" ", button("message", () => item.querySelector(".md")));
  };
  log.addEventListener("pointerover", prepareMessage);
  log.addEventListener("focusin", prepareMessage);
})();
