// Follows a run. The server sends pieces of the transcript as HTML that its templates
// made; here they are put in once per frame, and only so many are kept in the page.
"use strict";
(() => {
  const log = document.getElementById("log");
  if (!log) return;
  const byId = (id) => document.getElementById(id);
  const { run } = log.dataset;
  const earlier = byId("earlier"), jumpTo = byId("jump"), live = byId("live"), message = byId("message");
  // What the page holds while it follows the end, and at most while somebody reads above.
  const keep = { rows: 600, chars: 300_000 }, hold = { rows: 1800, chars: 900_000 };
  const frameChars = 200_000, backlogChars = 4_000_000, retryAfter = 2000, sayEvery = 3000;

  let seen = Number(log.dataset.after); // the last event that was received
  let source, queue = [], queued = 0, frame = 0;
  let following = true, stopped = false, ended = false;
  let rows = 0, chars = 0;

  const page = document.documentElement, talk = log.closest(".talk");
  // The end is that of the transcript: what stands beside or below it may be longer. A question
  // that waits is read from its beginning.
  const edge = 16, barHeight = 110;
  const endOf = () => {
    const end = talk.getBoundingClientRect().bottom + scrollY + edge - innerHeight;
    const asked = log.dataset.state === "blocked" && [...log.querySelectorAll(".question.open")].at(-1);
    return Math.max(0, asked ? Math.min(end, asked.getBoundingClientRect().top + scrollY - barHeight) : end);
  };
  const atEnd = () => scrollY >= endOf() - 60;
  let top = 0, height = 0; // how far down the page was when it last moved, and how long
  const note = () => { [top, height] = [scrollY, page.scrollHeight]; };
  const toEnd = () => {
    scrollTo({ top: endOf(), behavior: "instant" });
    note();
  };
  const tell = (text) => { if (live.textContent !== text) live.textContent = text; };
  const weight = (row) => (row.dataset.call === undefined ? row.textContent.length : 100);
  const add = (list, sign) => { for (const row of list) { rows += sign; chars += sign * weight(row); } };
  const beyond = (most) => rows > most.rows || chars > most.chars;
  const over = (most) => rows > most.rows * 0.8 || chars > most.chars * 0.8;
  const follow = (on) => { following = on; jumpTo.hidden = on || (ended && !stopped) || log.dataset.follow !== "true"; };
  const firstSeen = () => Number(log.querySelector("[data-seq]")?.dataset.seq ?? 1);

  // A call that is done folds when there is much of it, unless the reader touched it.
  const settle = (call) => {
    const state = call.querySelector("summary .tag")?.textContent;
    if (state !== "completed" || call.dataset.touched || call.querySelector(".diff")) return;
    const out = call.querySelector(".rows");
    if (out.childElementCount > 12 || out.textContent.length > 1500) call.querySelector("details").open = false;
  };
  // How long a call took, once its end has come.
  const showTook = (call, ended) => {
    const { began } = call.dataset, took = call.querySelector("summary .took");
    if (!took || !began) return;
    delete took.dataset.since;
    took.textContent = window.tookText((ended - began) / 1000); // both in microseconds
  };
  // What continues a call goes into it, if its beginning is in the page.
  const join = (part) => {
    const { call } = part.dataset;
    let first = part.previousElementSibling;
    if (call !== "") {
      const all = [...log.querySelectorAll(`li[data-call="${CSS.escape(call)}"]`)];
      first = all[all.indexOf(part) - 1];
    } else if (first?.dataset.call !== "") return;
    if (!first) return;
    first.querySelector(".rows").append(...part.querySelector(".rows").childNodes);
    const state = part.querySelector("summary .tag"), before = first.querySelector("summary .tag");
    if (state && before) before.replaceWith(state);
    else if (state) first.querySelector("summary").append(" ", state);
    first.classList.add(...[...part.classList].filter((name) => name.startsWith("k-")));
    if (part.dataset.ended) showTook(first, part.dataset.ended);
    part.remove();
    settle(first);
  };
  // What an execution was still at when it ended has no result: it was stopped.
  const stopCalls = () => {
    let over = false;
    for (const item of [...log.children].reverse()) {
      if (item.matches(".state.over")) over = true;
      if (!over || !item.dataset.call || item.dataset.continued !== undefined) continue;
      const tag = item.querySelector("summary .tag");
      if (tag && tag.textContent !== "running") continue;
      const stopped = document.createElement("span");
      stopped.className = "tag idle";
      stopped.textContent = "stopped";
      delete item.querySelector("summary .took")?.dataset.since;
      if (tag) tag.replaceWith(stopped);
      else item.querySelector("summary").append(" ", stopped);
    }
  };
  const pieces = (html) => {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    add(holder.content.querySelectorAll("[data-seq]"), 1);
    return [...holder.content.children];
  };
  const activate = (items) => items.forEach((item) => item.querySelector("form") && htmx.process(item));
  const append = (html) => {
    const items = pieces(html);
    log.append(...items);
    activate(items);
    for (const item of items) if (item.dataset.continued !== undefined) join(item);
    if (items.some((item) => item.matches(".state.over"))) stopCalls();
    return items;
  };

  // Browsers pass over what is out of sight; for a short log that is not worth its price.
  const showLength = () => log.classList.toggle("long", rows > 150);
  const showEarlier = () => {
    earlier.hidden = firstSeen() <= 1;
    earlier.firstElementChild.href = `/runs/${run}?before=${firstSeen()}`;
  };
  // The oldest rows go first; a call stays as long as some of its output does.
  const trim = () => {
    if (!beyond(keep)) return;
    while (over(keep)) {
      const item = log.firstElementChild;
      const row = item.querySelector(".rows > [data-seq]");
      if (!row && item === log.lastElementChild) break;
      if (row) {
        add([row], -1);
        row.remove();
        item.dataset.gap = "";
      } else {
        add(item.matches("[data-seq]") ? [item] : [], -1);
        item.remove();
      }
    }
    const item = log.firstElementChild, next = item.querySelector(".rows > [data-seq]");
    if (item.dataset.gap === "" && next) {
      let gap = item.querySelector(".gap");
      if (!gap) {
        gap = document.createElement("a");
        gap.className = "gap";
        gap.textContent = "Earlier output";
        item.querySelector(".rows").before(gap);
      }
      gap.href = `/runs/${run}?before=${next.dataset.seq}`;
    }
    showEarlier();
  };

  // Those who listen hear the newest of what happened, now and then, and the last always.
  let saidAt = 0, toSay = "", saying = 0;
  const sayNow = () => {
    [saying, saidAt] = [0, Date.now()];
    byId("said-last").textContent = toSay;
  };
  const say = (items) => {
    const item = items.findLast((one) => one.matches(".message.assistant, .question.open, .state"));
    if (!item) return;
    toSay = (item.querySelector(".md, pre") ?? item).textContent.trim().slice(0, 300);
    saying ||= setTimeout(sayNow, Math.max(0, saidAt + sayEvery - Date.now()));
  };

  // The end is told when all that came before it is there to be read.
  const tellEnd = () => {
    if (!ended || stopped || queue.length > 0) return;
    tell("The run has ended.");
    follow(following);
  };

  const draw = () => {
    frame = 0;
    if (log.querySelector(":active")) return later(); // what moves between its press and its release loses the click
    let html = "";
    while (queue.length > 0 && html.length < frameChars) html += queue.shift();
    queued -= html.length;
    if (html === "") return;
    say(append(html));
    showLength();
    if (following) {
      trim();
      toEnd();
    } else if (beyond(hold)) {
      return stop("Paused while you read.");
    }
    if (queue.length > 0) later();
    log.dataset.shown = queue.length === 0 ? seen : "";
    tellEnd();
  };
  const later = () => { frame ||= requestAnimationFrame(draw); };

  // Parts around the transcript. What the reader has open there stays open.
  const parts = {}, waiting = {};
  const swap = (id, html) => {
    const place = byId(id);
    delete waiting[id];
    if (parts[id] === html) return;
    // Not while a question there is answered, nor between the press of a button and its release: the click would be lost.
    if (place.querySelector(":active") || (place.querySelector(":popover-open") && html.includes("popover"))) {
      waiting[id] = html;
      return;
    }
    parts[id] = html;
    const focused = place.contains(document.activeElement) ? document.activeElement.textContent.trim() : null;
    place.innerHTML = html;
    htmx.process(place);
    if (focused !== null) [...place.querySelectorAll("a, button")].find((one) => one.textContent.trim() === focused)?.focus();
  };

  const swapWaiting = () => Object.entries(waiting).forEach(([id, html]) => swap(id, html));
  document.addEventListener("toggle", swapWaiting, true);
  for (const end of ["pointerup", "pointercancel", "keyup", "dragend"]) document.addEventListener(end, () => setTimeout(swapWaiting), true); // after the click

  const close = () => { source?.close(); source = undefined; };
  const stop = (why) => {
    close();
    stopped = true;
    [queue, queued] = [[], 0];
    tell(why);
    follow(false);
  };
  const connect = () => {
    close();
    const mine = (source = new EventSource(`/runs/${run}/events?after=${seen}`));
    mine.onopen = () => { if (!ended) tell("Live."); };
    mine.onmessage = (event) => {
      const { first, last, html } = JSON.parse(event.data);
      if (last <= seen) return;
      if (first !== seen + 1) return connect(); // never with a hole
      [seen, ended] = [last, false];
      tell("Live.");
      queue.push(html);
      queued += html.length;
      if (queued > backlogChars) return stop("Paused: this page was in the background.");
      later();
    };
    mine.addEventListener("side", (event) => {
      const { state, mark, kind, ...html } = JSON.parse(event.data);
      log.dataset.state = state.toLowerCase();
      document.title = document.title.replace(/^\S+/, mark);
      const icon = document.querySelector("link[rel=icon]");
      if (!icon.href.includes(`-${kind}.`)) icon.href = `/static/icon-${kind}.svg`;
      for (const [id, text] of Object.entries(html)) swap(id, text);
    });
    mine.addEventListener("far", jump);
    mine.addEventListener("end", () => {
      close();
      ended = true;
      if (queue.length > 0) draw();
      tellEnd();
    });
    mine.onerror = () => {
      if (!live.querySelector("a")) tell("Connection lost; trying again…");
      // The browser tries again by itself, except after an answer that is no stream, such as a proxy's 503.
      if (mine.readyState !== EventSource.CLOSED) return;
      live.dispatchEvent(new CustomEvent("refused", { bubbles: true }));
      setTimeout(() => mine === source && connect(), retryAfter);
    };
  };

  const fetchItems = async (query) => {
    const answer = await fetch(`/runs/${run}/items${query}`);
    if (!answer.ok || answer.redirected) return location.assign(`/runs/${run}${query}`);
    return answer.text();
  };
  // The end of the log, whatever the page has now.
  async function jump() {
    if (!stopped && source) {
      follow(true);
      return toEnd();
    }
    close();
    const html = await fetchItems("");
    if (html === undefined) return;
    log.replaceChildren();
    [rows, chars, stopped] = [0, 0, false];
    append(html);
    seen = Math.max(0, ...[...log.querySelectorAll("[data-seq]")].map((row) => Number(row.dataset.seq)));
    showEarlier();
    follow(true);
    toEnd();
    connect();
  }
  jumpTo.addEventListener("click", jump);

  earlier.firstElementChild.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const html = await fetchItems(`?before=${firstSeen()}`);
    if (html === undefined) return;
    follow(false);
    const height = page.scrollHeight, continued = [...log.querySelectorAll("li[data-continued]")];
    const items = pieces(html);
    log.prepend(...items);
    activate(items);
    continued.forEach(join);
    stopCalls();
    scrollBy({ top: page.scrollHeight - height, behavior: "instant" });
    while (beyond(hold) && log.childElementCount > items.length) {
      const item = log.lastElementChild;
      add([...item.querySelectorAll("[data-seq]"), ...(item.matches("[data-seq]") ? [item] : [])], -1);
      item.remove();
      if (!stopped) stop("Paused while you read.");
    }
    showEarlier();
  });

  // Shows one event: in the page, or in the part of the log around it.
  const show = async (sequence) => {
    follow(false);
    if (!byId(`e${sequence}`)) {
      const html = await fetchItems(`?at=${sequence}`);
      if (html === undefined) return;
      log.replaceChildren();
      [rows, chars] = [0, 0];
      append(html);
      stopCalls();
      showEarlier();
      showLength();
      if (log.dataset.follow === "true") stop("This is an earlier part of the log.");
    }
    const found = byId(`e${sequence}`);
    if (!found) return;
    for (let around = found.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
    const own = found.querySelector(":scope > details");
    if (own) own.open = true;
    log.querySelector(".here")?.classList.remove("here");
    found.classList.add("here");
    const centre = () => {
      found.scrollIntoView({ block: "center", behavior: "instant" });
      note();
    };
    centre();
    requestAnimationFrame(() => requestAnimationFrame(centre)); // what was out of sight has its height only now
  };
  log.addEventListener("showevent", (event) => show(event.detail));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-event]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.replaceState(null, "", link.hash);
    show(link.dataset.event);
  });
  // The title stays in sight when its own place does not.
  new IntersectionObserver(([title]) => { byId("now").hidden = title.isIntersecting; }).observe(document.querySelector(".run-head h1"));

  const unfold = byId("unfold");
  unfold.hidden = false;
  unfold.addEventListener("click", () => {
    const open = unfold.textContent === "Unfold all";
    for (const one of log.querySelectorAll("details")) one.open = open;
    unfold.textContent = open ? "Fold all" : "Unfold all";
  });
  log.addEventListener("click", (event) => {
    const call = event.target.closest("summary")?.closest("li");
    if (call) call.dataset.touched = "true";
  });

  // The rest of an output is put in where it was cut; without this script the link shows all of it.
  log.addEventListener("click", async (event) => {
    const rest = event.target.closest("a[data-load]");
    if (!rest || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const answer = await fetch(rest.href).catch(() => undefined), row = rest.parentElement;
    if (!answer?.ok || answer.redirected) return location.assign(rest.href);
    const text = await answer.text();
    if (!row?.isConnected) return;
    follow(false); // the reader reads here
    add([row], -1);
    row.textContent = text;
    add([row], 1);
    row.tabIndex = -1;
    row.focus({ preventScroll: true });
  });

  message?.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) message.form.requestSubmit();
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const { elt, successful } = event.detail;
    if (!successful || !elt.matches("form")) return; // what only reads changes nothing here
    if (elt.matches(".send")) elt.reset();
    elt.closest("[popover]")?.hidePopover();
    if (log.dataset.follow !== "true") return location.assign(`/runs/${run}`);
    if (stopped) return jump();
    follow(true);
    toEnd();
    if (ended) connect();
    ended = false;
  });

  add(log.querySelectorAll("[data-seq]"), 1);
  showLength();
  const linked = /^#e(\d+)$/.exec(location.hash)?.[1];
  if (log.dataset.follow !== "true") {
    if (linked) show(linked);
    return;
  }
  // Who scrolls up leaves the end, and who comes back to it follows again: nobody who has only begun to scroll up, as news would
  // take them back at once. A page that grows, or folds something, moves nobody away from the end.
  addEventListener("scroll", () => {
    const up = scrollY < top && page.scrollHeight >= height, back = scrollY > top;
    note();
    if (!stopped && following !== atEnd() && (following ? up : back)) follow(!following);
  }, { passive: true });
  addEventListener("wheel", (event) => { if (event.deltaY < 0 && page.scrollHeight > innerHeight) follow(false); }, { passive: true });
  // What the keyboard has reached stays where it is, unless it is the last.
  log.addEventListener("focusin", ({ target }) => { if (target.matches(":focus-visible") && !log.lastElementChild.contains(target)) follow(false); });
  new ResizeObserver(() => following && !ended && toEnd()).observe(log);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && stopped && following) jump();
  });
  const done = ["succeeded", "failed", "error", "cancelled"].includes(log.dataset.state);
  ended = done;
  // What has ended is read from the top, what goes on at its end, and a link leads to its event.
  if (linked) show(linked);
  else if (!done) toEnd();
  else follow(atEnd());
  connect();
})();
