// Follows a run: every line of the event stream is appended as text, never as HTML.
"use strict";
(() => {
  const log = document.getElementById("log");
  if (!log || log.dataset.live !== "true") return;
  const live = document.getElementById("live");
  const state = document.getElementById("state");
  const seen = { last: Number(log.dataset.after) };
  const atEnd = () => window.innerHeight + window.scrollY >= document.body.offsetHeight - 80;

  const element = (name, text, className) => {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
  };
  const append = (line) => {
    if (line.sequence <= seen.last) return;
    seen.last = line.sequence;
    const follow = atEnd();
    const item = element("li", undefined, line.kind);
    item.value = line.sequence;
    item.append(element("time", line.time), " ", element("b", line.type), element("pre", line.text));
    log.append(item);
    if (line.kind === "state") {
      const name = line.text.split(" ")[0];
      state.textContent = name;
      state.className = "badge " + name.toLowerCase();
    }
    if (follow) window.scrollTo(0, document.body.scrollHeight);
  };

  const source = new EventSource(`/runs/${log.dataset.run}/events?after=${seen.last}`);
  source.onmessage = (e) => append(JSON.parse(e.data));
  source.onopen = () => { live.textContent = "Live."; };
  source.onerror = () => { live.textContent = "Connection lost; trying again…"; };
  source.addEventListener("end", () => {
    source.close();
    live.textContent = "The run has ended.";
  });
})();
