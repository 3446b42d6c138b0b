// A bar of a chart shows at once what it stands for. Without this script its title does, a moment later.
"use strict";
(() => {
  const tip = document.createElement("p");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true"); // the table below each chart is what is read aloud
  document.body.append(tip);
  document.addEventListener("pointerover", (event) => {
    const bar = event.target.closest?.(".chart .hit");
    tip.hidden = !bar;
    if (!bar) return;
    const title = bar.querySelector("title");
    if (title) {
      bar.dataset.said = title.textContent;
      title.remove(); // the browser would show it as well
    }
    tip.textContent = bar.dataset.said;
    const { left, width, top } = bar.getBoundingClientRect();
    const half = tip.offsetWidth / 2;
    tip.style.left = `${Math.max(4, Math.min(left + width / 2 - half, document.documentElement.clientWidth - 2 * half - 4))}px`;
    tip.style.top = `${Math.max(4, top - tip.offsetHeight - 4)}px`;
  });
  for (const gone of ["htmx:afterSwap", "scroll", "pointerleave"]) document.addEventListener(gone, () => (tip.hidden = true), { passive: true });
})();
