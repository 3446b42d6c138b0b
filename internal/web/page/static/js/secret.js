// Fields for secrets can be looked at while one types, if the reader asks for it.
"use strict";
(() => {
  for (const button of document.querySelectorAll("[data-show]")) {
    const field = document.getElementById(button.dataset.show);
    button.hidden = false;
    button.addEventListener("click", () => {
      const show = field.type === "password";
      field.type = show ? "text" : "password";
      button.textContent = show ? "Hide" : "Show";
      button.setAttribute("aria-pressed", String(show));
    });
    // A browser that keeps what was typed must not keep it readable.
    field.form.addEventListener("submit", () => { field.type = "password"; });
  }
})();
