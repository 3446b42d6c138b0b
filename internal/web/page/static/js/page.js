// What every page has: copy buttons, times that stay current, keys, help.
"use strict";
(() => {
  // A duration as the server tells it.
  window.tookText = (ms) => {
    const s = ms / 1000;
    if (s < 1) return `${Math.max(1, Math.floor(ms))} ms`;
    if (s < 10) return `${s.toFixed(1)} s`;
    if (s < 60) return `${Math.round(s)} s`;
    const two = (n) => String(Math.floor(n)).padStart(2, "0");
    return s < 3600 ? `${Math.floor(s / 60)} min ${two(s % 60)} s` : `${Math.floor(s / 3600)} h ${two((s / 60) % 60)} min`;
  };

  const typing = (target) => target.closest("input, textarea, select, [contenteditable]");

  // Copy buttons are of no use without this script, so they show only with it.
  const showCopies = (root) => root.querySelectorAll("[data-copy][hidden]").forEach((button) => { button.hidden = false; });
  showCopies(document);
  document.addEventListener("htmx:load", (event) => showCopies(event.target));

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = button.copyFrom?.() ?? button.parentElement.querySelector("pre, .payload, code, input");
    const words = button.querySelector("span");
    const plain = text.cloneNode(true);
    for (const link of plain.querySelectorAll(".rest")) link.remove(); // it says that there is more, and is none of it
    try {
      await navigator.clipboard.writeText(text.value ?? plain.textContent);
      words.textContent = "Copied";
    } catch {
      // Browsers refuse the clipboard outside of HTTPS: the text is selected instead.
      getSelection().selectAllChildren(text);
      words.textContent = "Press Ctrl C";
    }
  });

  // Times are those of the reader's clock, or UTC for those who chose that; the tooltip has both.
  // Without this script they are UTC, and say so.
  const local = document.documentElement.dataset.zone !== "utc";
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const two = (n) => String(n).padStart(2, "0");
  const dayOf = (d) => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  const clockOf = (d) => `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
  const zoned = new Intl.DateTimeFormat("en", { timeZoneName: "short" }); // of that day: zones have summers
  const zoneOf = (d) => zoned.formatToParts(d).find((part) => part.type === "timeZoneName").value;
  const localize = (root) => {
    for (const time of root.querySelectorAll("time[datetime]:not([data-zone])")) {
      const then = new Date(time.dateTime);
      if (Number.isNaN(then.getTime())) continue;
      time.dataset.zone = zone;
      time.title = `${dayOf(then)} ${clockOf(then)} ${zone}, ${time.title}`;
      if (!local) continue;
      if (time.dataset.clock !== undefined) time.textContent = clockOf(then);
      if (time.dataset.moment !== undefined) time.textContent = `${dayOf(then)} ${clockOf(then)} ${zoneOf(then)}`;
    }
  };
  localize(document);
  document.addEventListener("htmx:load", (event) => localize(event.target));
  const log = document.getElementById("log");
  if (log) new MutationObserver((changes) => { if (changes.some((one) => one.addedNodes.length > 0)) localize(log); }).observe(log, { childList: true });

  // What is to come is rounded: a key of 90 days that was made a minute ago ends in 90 days.
  const nearly = (d) => {
    const unit = d >= 172800 ? 86400 : d >= 3600 ? 3600 : d >= 60 ? 60 : 0;
    return unit ? Math.round(d / unit) * unit : d;
  };
  const agoText = (then) => {
    const seconds = (Date.now() - then) / 1000;
    const d = seconds < 0 ? nearly(-seconds) : seconds;
    if (d < 5) return "just now";
    const amount = d < 60 ? `${Math.floor(d)} s` : d < 3600 ? `${Math.floor(d / 60)} min` : d < 172800 ? `${Math.floor(d / 3600)} h` : `${Math.floor(d / 86400)} days`;
    return seconds >= 0 ? `${amount} ago` : `in ${amount}`;
  };
  setInterval(() => {
    if (document.hidden) return;
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const text = agoText(Date.parse(time.dateTime));
      if (time.textContent !== text) time.textContent = text;
    }
  }, 5000);

  // A stream that was refused asks whether the session is over, and says so in its place.
  document.addEventListener("refused", async (event) => {
    if (event.target.querySelector("a")) return; // it says so already, and its link may be pressed just now
    const answer = await fetch("/sessions", { headers: { "HX-Request": "true" } }).catch(() => undefined);
    if (answer?.status !== 401) return;
    const link = document.createElement("a");
    link.href = `/login?next=${encodeURIComponent(location.pathname + location.search)}`;
    link.textContent = "Sign in";
    event.target.replaceChildren("You have been signed out. ", link);
  });

  const help = () => document.getElementById("help").showModal();
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-help]")) help();
  });

  const places = { o: "/", r: "/runs", d: "/deliveries", c: "/costs", f: "/factories", a: "/automations", w: "/webhooks", n: "/notifications", s: "/schedules" };
  // Each row is one stop: what it unfolds, its link, or itself where its name leads nowhere. Inside a run the first is
  // one that is on the screen.
  const step = (by) => {
    const rows = [...document.querySelectorAll("table.list tbody tr, .delivery, .attention li, #log > .item")].filter((row) => row.checkVisibility());
    const seen = log ? rows.filter((row) => row.getBoundingClientRect().top < innerHeight && row.getBoundingClientRect().bottom > 0) : rows;
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const row = at < 0 ? seen.at(by > 0 ? 0 : -1) : rows[Math.min(Math.max(at + by, 0), rows.length - 1)];
    if (!row) return;
    const stop = row.querySelector(":scope > summary, td.main summary, :scope > details > summary") ?? row.querySelector("td.main a, li:not(.item) > a");
    if (!stop) row.tabIndex = -1;
    (stop ?? row).focus();
  };
  let leader = false;
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && typing(event.target)) return event.target.blur();
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector("dialog[open]")) return;
    const search = document.getElementById("search");
    if (!search) return;
    if (leader) {
      leader = false;
      if (places[event.key]) location.assign(places[event.key]);
      return;
    }
    switch (event.key) {
      case "/": {
        const field = document.getElementById("find-text") ?? search; // inside a run, its log is what one looks through
        event.preventDefault();
        field.focus();
        field.select();
        break;
      }
      case "?": help(); break;
      case "g": leader = true; break;
      case "j": step(1); break;
      case "k": step(-1); break;
      case "n": location.assign("/runs/new"); break;
    }
  });

  // What a filter chooses from a list with a pointer holds at once. Each arrow chooses as well, so the keyboard ends with Show.
  let pointed;
  document.addEventListener("pointerdown", ({ target }) => { pointed = target.closest("form[data-apply]"); }, true);
  document.addEventListener("keydown", () => { pointed = undefined; }, true);
  document.addEventListener("change", ({ target }) => target.form && target.form === pointed && pointed.requestSubmit());
  // After Back they show what holds, not what was chosen last.
  addEventListener("pageshow", () => { for (const form of document.querySelectorAll("form[data-apply]")) form.reset(); });

  // A field above a long page leaves what has all of its words; what is folded opens for that.
  for (const box of document.querySelectorAll("[data-narrow]")) {
    box.hidden = false;
    box.addEventListener("input", ({ target }) => {
      const words = target.value.toLowerCase().split(/\s+/), all = [...document.querySelectorAll(box.dataset.narrow)];
      for (const one of all) {
        one.hidden = !words.every((word) => one.textContent.toLowerCase().includes(word));
        if (target.value && !one.hidden) one.closest("details")?.setAttribute("open", "");
      }
      const left = all.filter((one) => !one.hidden).length;
      box.querySelector("[role=status]").textContent = !target.value ? "" : left ? `${left} of ${all.length}` : "Nothing matches";
    });
  }

  // A form is sent once. The button is off only after its value was taken, and on again
  // when the reader comes back to the page.
  const sent = new Set();
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    if (sent.has(form)) return event.preventDefault();
    sent.add(form);
    setTimeout(() => { if (event.submitter) event.submitter.disabled = true; });
  });
  addEventListener("pageshow", () => {
    for (const form of sent) for (const one of form.elements) if (one.matches("button:disabled")) one.disabled = false;
    sent.clear();
  });

  // What was unfolded before this script had come is read now.
  document.addEventListener("htmx:load", ({ target }) => {
    for (const one of target.querySelectorAll("[hx-trigger^=toggle]")) {
      const box = one.closest("details");
      if (box.open) box.dispatchEvent(new Event("toggle"));
    }
  }, { once: true });

  // A form that comes back with an error begins with what was wrong.
  document.querySelector("[data-focus]")?.focus();
  // htmx drops answers of 4xx by default; here they carry the error to show.
  document.addEventListener("htmx:beforeSwap", (event) => {
    // What a page asks for by itself waits for the next time while something is pressed: the click would be lost on
    // what is replaced, and on what moves.
    if (event.detail.requestConfig.elt.matches("[hx-trigger*=every], [hx-trigger=refresh]") && document.querySelector("main :active")) {
      event.detail.shouldSwap = false;
    } else if (event.detail.xhr.status >= 400 && event.detail.xhr.status !== 401) {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    }
  });
})();
