// Follows a run: every line of the event stream is appended as text, never as HTML.
"use strict";
(() => {
  const log = document.getElementById("log");
  if (!log || log.dataset.live !== "true") return;
  const live = document.getElementById("live");
  const state = document.getElementById("state");
  const status = document.getElementById("status");
  const seen = { last: Number(log.dataset.after) };
  const retryAfter = 2000;
  const atEnd = () => window.innerHeight + window.scrollY >= document.body.offsetHeight - 80;

  const element = (name, text, className) => {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
  };
  // A line must look the same as in the page that the server renders, where the
  // browser makes line ends of carriage returns and the template replaces NUL.
  const plain = (text) => text.replace(/\r\n?/g, "\n").replaceAll("\0", "\ufffd");
  const showState = (text) => {
    const [name, ...message] = text.split(" — ");
    state.textContent = name;
    state.className = "badge " + name.toLowerCase();
    status.textContent = message.join(" — ");
  };
  const append = (line) => {
    if (line.sequence <= seen.last) return;
    seen.last = line.sequence;
    const follow = atEnd();
    const item = element("li", undefined, line.kind);
    item.value = line.sequence;
    item.append(element("time", line.time), " ", element("b", line.type), element("pre", plain(line.text)));
    log.append(item);
    if (line.kind === "state") showState(line.text);
    if (follow) window.scrollTo(0, document.body.scrollHeight);
  };

  const connect = () => {
    const source = new EventSource(`/runs/${log.dataset.run}/events?after=${seen.last}`);
    source.onmessage = (e) => append(JSON.parse(e.data));
    source.onopen = () => { live.textContent = "Live."; };
    source.onerror = () => {
      live.textContent = "Connection lost; trying again…";
      // The browser tries again by itself, except after an answer that is no stream, such as a proxy's 503.
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, retryAfter);
    };
    source.addEventListener("end", () => {
      source.close();
      live.textContent = "The run has ended.";
      document.getElementById("cancel")?.remove();
    });
  };
  connect();
})();
