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

  // Tables that were opened stay open.
  let open = [];
  view.addEventListener("htmx:beforeSwap", () => {
    open = [...view.querySelectorAll("details[open]")].map((one) => one.id);
  });
  view.addEventListener("htmx:afterSwap", () => {
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  });
  view.addEventListener("htmx:afterRequest", (event) => {
    busy = false;
    trouble.hidden = event.detail.xhr.status > 0;
  });
})();
