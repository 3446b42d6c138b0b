// Search while one types: below the field on top of every page, and in a palette (Ctrl K) with
// pages and actions. What is found are links; arrows go from one to the next.
"use strict";
(() => {
  const wait = 120; // after a key, before the server is asked
  const listen = (box, input, hits, { always }) => {
    let timer, asked = 0;
    const show = (on) => { hits.hidden = !on; };
    const ask = async () => {
      const text = input.value.trim(), mine = ++asked;
      if (!text && !always) return show(false);
      const answer = await fetch(`/search?q=${encodeURIComponent(text)}`, { headers: { "HX-Request": "true" } }).catch(() => undefined);
      if (mine !== asked || !answer?.ok || answer.redirected) return; // another key came, or the session has ended
      const found = new DOMParser().parseFromString(await answer.text(), "text/html").querySelectorAll("li");
      if (mine !== asked) return;
      if (hits.querySelector(":active")) { // a click that is not over would be lost
        addEventListener("pointerup", () => setTimeout(ask), { once: true });
        return;
      }
      const chosen = hits.contains(document.activeElement) && document.activeElement.getAttribute("href");
      if (chosen) input.focus(); // until what replaces it is there
      const views = window.viewsNamed(text), rest = [...found].filter((one) => views.length === 0 || !one.matches(".none"));
      hits.replaceChildren(...views, ...rest.map((one) => document.adoptNode(one)));
      show(always || document.activeElement === input);
      if (chosen) links().find((one) => one.getAttribute("href") === chosen)?.focus();
    };
    const links = () => [...hits.querySelectorAll("a")];
    input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, wait); });
    box.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape" && !hits.hidden && !always) {
        show(false);
        input.focus();
        event.stopPropagation();
      }
      if (event.key === "Enter" && always && event.target === input) {
        event.preventDefault();
        clearTimeout(timer);
        ask().then(() => links()[0]?.click()); // not what was found for less of it
      }
      if (!by || hits.hidden) return;
      event.preventDefault();
      const all = links(), at = all.indexOf(document.activeElement) + by;
      (at < 0 ? input : all[Math.min(at, all.length - 1)])?.focus();
    });
    box.addEventListener("focusout", (event) => { if (!always && !box.contains(event.relatedTarget)) show(false); });
    return ask;
  };
  let palette, typed, ask;
  const begin = () => {
    palette = document.getElementById("palette");
    if (!palette) return;
    const field = document.getElementById("search");
    listen(field.form, field, document.getElementById("search-hits"), { always: false });
    typed = palette.querySelector("input");
    ask = listen(palette, typed, palette.querySelector("ul"), { always: true });
  };
  const open = () => {
    if (!palette || palette.open || document.querySelector("dialog[open]")) return;
    typed.value = "";
    palette.showModal();
    ask();
  };
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open();
    }
  });
  document.addEventListener("click", (event) => { if (palette && event.target === palette) palette.close(); });
  document.addEventListener("htmx:historyRestore", begin); // the way back puts in another body
  begin();
})();
