// Finds events in the log of a run: by words, by kind, or both. The server looks through the
// whole log, a part with each answer; here is where one is among what it found.
"use strict";
(() => {
  const form = document.getElementById("find");
  if (!form) return;
  const log = document.getElementById("log"), told = document.getElementById("found");
  const text = document.getElementById("find-text"), before = document.getElementById("find-before");
  const wait = 250;
  let asked = "", matches = [], whole = true, at = -1, timer;

  const query = () => new URLSearchParams({ q: text.value.trim(), only: form.elements.only.value }).toString();
  const empty = () => text.value.trim() === "" && form.elements.only.value === "";
  const tell = () => {
    const of = `${matches.length}${whole ? "" : "+"}`;
    if (asked === "") told.textContent = "";
    else if (matches.length === 0) told.textContent = whole ? "Nothing found" : "Looking…";
    else told.textContent = at < 0 ? `${of} found` : `${at + 1} of ${of}`;
  };

  // Reads all matches; what was asked for meanwhile is what counts.
  const look = async () => {
    clearTimeout(timer);
    const mine = empty() ? "" : query();
    if (mine === asked) return;
    [asked, matches, whole, at] = [mine, [], mine === "", -1];
    tell();
    for (let after = 0; asked !== "" && !whole && mine === asked; ) {
      const answer = await fetch(`${form.action}?${mine}&after=${after}`, { headers: { accept: "application/json" } }).catch(() => undefined);
      if (mine !== asked) return;
      if (!answer?.ok) {
        [asked, told.textContent] = ["", "The server does not answer; try again."];
        return;
      }
      const found = await answer.json();
      if (mine !== asked) return;
      matches.push(...found.matches);
      after = found.next ?? 0;
      whole = after === 0;
      tell();
    }
  };
  const go = async (by) => {
    await look();
    if (matches.length === 0) return;
    at = at < 0 && by < 0 ? matches.length - 1 : (at + by + matches.length) % matches.length;
    tell();
    log.dispatchEvent(new CustomEvent("showevent", { detail: matches[at] }));
  };

  before.hidden = false;
  before.addEventListener("click", () => go(-1));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go(1);
  });
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.shiftKey) return;
    event.preventDefault();
    go(-1);
  });
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, wait);
  });
})();
