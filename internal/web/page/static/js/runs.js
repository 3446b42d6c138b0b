// The list of runs: rows follow their runs, new ones appear, and rows can be picked.
// The stream only names runs that changed; what is shown is read from the server.
"use strict";
(() => {
  const spacing = 1000; // between two readings, however much happens
  const perPage = 50;
  let box; // the list that is followed; htmx puts in another when a filter changes
  let source, cursor, retry, again, timer, busy, missed;
  let changed = new Set(), news = new Set(), many = false, lastRead = 0;

  const rows = () => [...box.querySelectorAll("tbody tr")];
  const rowOf = (id) => document.getElementById(`run-${id}`);
  const picked = () => [...box.querySelectorAll('td.pick input:checked')];

  // Between the press of something and its release nothing is replaced or moves: the click would be lost.
  const pressed = () => box.querySelector(":active");

  // The page moves by itself only while nobody is reading further down, typing, picking or pressing.
  const calm = () => {
    const active = document.activeElement;
    const typing = active && active.closest("#list, #filters input[type='search'], #filters .more-fields");
    return box.dataset.first === "true" && window.scrollY < 120 && picked().length === 0 && !typing && !pressed();
  };

  const read = async (address) => {
    const response = await fetch(address, { headers: { "HX-Request": "true" } });
    if (response.redirected) location.reload(); // the session has ended
    if (!response.ok) throw new Error(`${address}: ${response.status}`);
    return new DOMParser().parseFromString(await response.text(), "text/html");
  };

  // Replaces a row that changed. What the reader did to it stays.
  const renew = (old, row) => {
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const box = old.querySelector("td.pick input"), other = row.querySelector("td.pick input");
    if (box?.checked && other) other.checked = true;
    old.replaceWith(row);
    if (focused) (focused.type === "checkbox" && other ? other : row.querySelector("td.main a")).focus();
  };

  // The numbers at the states, which every answer has.
  const recount = (page) => {
    for (const n of page.querySelectorAll("[hx-swap-oob]")) document.getElementById(n.id).textContent = n.textContent;
  };

  const readRows = async (ids) => {
    const at = box;
    const query = ids.map((id) => `id=${encodeURIComponent(id)}`).join("&");
    const page = await read(`/runs/rows?${query}${box.dataset.counts ? "&counts=1" : ""}`);
    if (at === box) recount(page);
    for (const row of page.querySelectorAll("tr")) {
      const old = document.getElementById(row.id);
      if (pressed()) changed.add(row.id.slice(4));
      else if (old && old.outerHTML !== row.outerHTML) renew(old, document.adoptNode(row));
    }
    tally();
  };

  // Shows the first page as it is now; rows that are new are marked for a moment. The answer
  // is of no use when the reader has meanwhile chosen another list, or begun to do something in it.
  const readList = async () => {
    const at = box;
    const page = await read(location.pathname + location.search);
    const list = page.getElementById("list");
    if (!list || at !== box || !box.isConnected) return true;
    if (!calm()) return false;
    const known = new Set(rows().map((row) => row.id));
    const fresh = [...list.querySelectorAll("tbody tr")].filter((row) => !known.has(row.id)).map((row) => row.id);
    recount(page);
    box.replaceChildren(...[...list.childNodes].map((node) => document.adoptNode(node)));
    for (const id of fresh) document.getElementById(id).classList.add("fresh");
    prepare();
    return true;
  };

  const tell = () => {
    const bar = document.getElementById("news");
    bar.firstElementChild.textContent = many ? "New runs" : news.size === 1 ? "1 new run" : `${news.size} new runs`;
    bar.hidden = false;
  };

  // Reads what changed. What comes meanwhile waits for the next reading.
  const flush = async () => {
    timer = undefined;
    missed = busy;
    if (busy) return;
    busy = true;
    lastRead = Date.now();
    const at = box, told = { news, many };
    const whole = (many || news.size > 0) && calm();
    const ids = many ? rows().map((row) => row.id.slice(4)) : [...changed].filter(rowOf);
    changed = new Set();
    let done = true;
    try {
      if (whole) {
        [news, many] = [new Set(), false];
        done = await readList();
        missed ||= !done;
      } else {
        if (ids.length > 0 || box.dataset.counts) await readRows(ids.slice(0, perPage));
        if (at === box && (many || news.size > 0)) {
          if (pressed()) missed = true;
          else tell();
        }
      }
    } catch {
      done = false;
      for (const id of ids) changed.add(id); // the next change, or the next try, reads them
      later(5 * spacing);
    }
    if (!done && whole && at === box) [news, many] = [new Set([...told.news, ...news]), many || told.many];
    busy = false;
    if (missed || changed.size > 0) later();
  };
  const later = (wait = 0) => {
    timer ??= setTimeout(flush, Math.max(wait, lastRead + spacing - Date.now(), 0));
  };

  // Where the list is by creation, a run belongs on the page when it is newer than its
  // last row; ids are in the order of creation. What changes now is the last of a list by age.
  const belongs = (run) => {
    if (!run.fits) return false;
    if (box.dataset.first !== "true") return run.born;
    const list = rows();
    if (list.length < perPage) return true;
    if (box.dataset.sort === "") return `run-${run.id}` > list.at(-1).id;
    if (box.dataset.sort.startsWith("title")) return run.born; // a change moves no title
    return !["oldest", "updated-asc"].includes(box.dataset.sort);
  };

  const hear = (event) => {
    cursor = event.lastEventId;
    const message = JSON.parse(event.data);
    if (message.many) many = true;
    for (const run of message.runs ?? []) {
      if (rowOf(run.id)) changed.add(run.id);
      else if (belongs(run)) news.add(run.id);
    }
    if (many || changed.size > 0 || news.size > 0 || box.dataset.counts) later();
  };

  const show = (text, off) => {
    const live = document.getElementById("live");
    live.hidden = false;
    live.textContent = text;
    live.classList.toggle("off", off);
  };

  const connect = () => {
    disconnect();
    if (!box?.isConnected || document.hidden) return;
    const address = new URL(box.dataset.live, location.href);
    address.searchParams.set("cursor", cursor);
    source = new EventSource(address);
    source.onmessage = hear;
    source.onopen = () => {
      again = 0;
      show("Live", false);
    };
    source.onerror = () => {
      const live = document.getElementById("live");
      if (!live.querySelector("a")) show("Connecting…", true);
      // The browser tries again by itself, except after an answer that is no stream.
      if (source.readyState !== EventSource.CLOSED) return;
      live.dispatchEvent(new CustomEvent("refused", { bubbles: true }));
      retry = setTimeout(connect, Math.min(30_000, 1000 * 2 ** again++));
    };
  };
  const disconnect = () => {
    clearTimeout(retry);
    source?.close();
    source = undefined;
  };

  // Boxes.
  const tally = () => {
    const all = document.getElementById("pick-all"), button = document.getElementById("cancel-picked");
    if (!button) return;
    const some = box.querySelectorAll("td.pick input").length, n = picked().length;
    button.disabled = n === 0;
    button.textContent = n === 0 ? "Cancel selected" : `Cancel selected (${n})`;
    all.hidden = some === 0;
    all.checked = n > 0 && n === some;
    all.indeterminate = n > 0 && n < some;
  };
  const prepare = () => tally();

  document.addEventListener("change", (event) => {
    if (!box?.contains(event.target)) return;
    if (event.target.id === "pick-all") for (const one of box.querySelectorAll("td.pick input")) one.checked = event.target.checked;
    tally();
  });
  // The words are sent as they are typed: leaving their field changes nothing more.
  document.addEventListener("change", (event) => event.target.id === "q" && event.stopPropagation(), true);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "x" || event.ctrlKey || event.metaKey || event.altKey) return;
    const one = document.activeElement?.closest("#list tbody tr")?.querySelector("td.pick input");
    if (!one || document.activeElement === one) return;
    one.checked = !one.checked;
    tally();
  });

  setInterval(() => {
    if (document.hidden) return;
    for (const cell of document.querySelectorAll("[data-since]")) cell.textContent = window.tookText(Math.max(0, Date.now() - Number(cell.dataset.since)));
  }, 1000);

  const begin = () => {
    const found = document.getElementById("list");
    if (found === box) return;
    box = found;
    changed = new Set();
    news = new Set();
    many = false;
    clearTimeout(timer);
    timer = undefined;
    if (!box) return disconnect();
    cursor = box.dataset.cursor;
    again = 0;
    prepare();
    connect();
  };
  // A list that nobody looks at needs no stream; it goes on where it was.
  document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
  document.addEventListener("htmx:load", begin);
  document.addEventListener("htmx:historyRestore", begin);
  begin();
})();
