// The list of workers renews itself, but not under a reader's hands or unseen.
"use strict";
(() => {
  document.addEventListener("htmx:beforeRequest", (event) => {
    const list = event.target;
    if (list.id === "workers" && (document.hidden || list.contains(document.activeElement))) event.preventDefault();
  });
})();
