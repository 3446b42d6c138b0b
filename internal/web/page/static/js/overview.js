// The overview asks for news of itself while somebody can see it.
"use strict";
(() => {
  const view = document.getElementById("overview");
  if (!view) return;
  const every = Number(view.dataset.every) * 1000;
  const trouble = document.getElementById("overview-trouble");
  let asked = Date.now();
  let busy = false;
  const refresh = () => {
    if (document.hidden || busy || Date.now() - asked < every) return;
    asked = Date.now();
    busy = true;
    window.htmx.trigger(view, "refresh");
  };
  setInterval(refresh, 1000);
  document.addEventListener("visibilitychange", refresh);

  // Tables that were opened stay open, and what has the focus keeps it.
  let open = [], focused;
  view.addEventListener("htmx:beforeSwap", () => {
    open = [...view.querySelectorAll("details[open]")].map((one) => one.id);
    focused = view.contains(document.activeElement) ? document.activeElement : undefined;
  });
  const same = (one) => one.textContent === focused.textContent && one.getAttribute("href") === focused.getAttribute("href");
  view.addEventListener("htmx:afterSwap", () => {
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    dismiss();
    if (!focused || view.contains(document.activeElement)) return;
    [...view.querySelectorAll("a, button, summary")].find(same)?.focus({ preventScroll: true });
  });

  // What was dismissed stays away in this browser until it happens again.
  const key = "lineshaft-dismissed";
  const kept = () => JSON.parse(localStorage.getItem(key) ?? "{}");
  const dismiss = () => {
    const gone = kept(), list = [...view.querySelectorAll("[data-notice]")];
    for (const one of list) {
      one.hidden = gone[one.dataset.notice] === one.dataset.at;
      one.querySelector("[data-dismiss]").hidden = false;
    }
    const count = list.filter((one) => one.hidden).length, told = document.getElementById("dismissed");
    if (!told) return;
    told.hidden = count === 0;
    const back = document.createElement("button");
    back.type = "button";
    back.className = "quiet small";
    back.textContent = "Show again";
    back.dataset.back = "";
    told.replaceChildren(`${count} dismissed `, back);
  };
  view.addEventListener("click", (event) => {
    const one = event.target.closest("[data-dismiss]")?.closest("[data-notice]");
    if (one) localStorage.setItem(key, JSON.stringify({ ...kept(), [one.dataset.notice]: one.dataset.at }));
    else if (event.target.closest("[data-back]")) localStorage.removeItem(key);
    else return;
    dismiss();
  });
  dismiss();
  view.addEventListener("htmx:afterRequest", (event) => {
    busy = false;
    trouble.hidden = event.detail.xhr.status > 0;
  });
})();
