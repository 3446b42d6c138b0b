// Saved views: lists with filters that a reader keeps under a name. They live in this browser,
// for each person who signs in, and are in the bar of their list and in what search offers.
"use strict";
(() => {
  const person = document.getElementById("palette")?.dataset.person;
  if (!person) return;
  const key = `lineshaft-views-${person}`, most = 20, longest = 60;
  const lists = { "/runs": "Runs", "/deliveries": "Deliveries" };

  // One view has one address, and no other page than a list is one: what is stored may be anything.
  const addressOf = (text) => {
    const url = new URL(text, location.origin);
    if (url.origin !== location.origin || !lists[url.pathname]) return undefined;
    const filters = [...url.searchParams].filter(([name, value]) => value !== "" && name !== "cursor").sort();
    return filters.length === 0 ? undefined : `${url.pathname}?${new URLSearchParams(filters)}`;
  };
  const listOf = (view) => new URL(view.at, location.origin).pathname;
  const nameOf = (text) => text.trim().slice(0, longest);
  const sound = (view) => {
    try {
      const at = addressOf(view.at), name = nameOf(view.name);
      return at && name ? [{ name, at }] : [];
    } catch {
      return [];
    }
  };
  const kept = () => {
    try {
      return JSON.parse(localStorage.getItem(key) ?? "[]").flatMap(sound).slice(0, most);
    } catch {
      return []; // nothing that this script wrote, or a browser that keeps nothing
    }
  };
  const keep = (views) => {
    try {
      localStorage.setItem(key, JSON.stringify(views));
    } catch {
      // a browser that keeps nothing: the bar goes on showing what there was
    }
    show();
  };

  const named = (tag, text) => {
    const one = document.createElement(tag);
    one.textContent = text;
    return one;
  };
  const show = () => {
    const bar = document.getElementById("views");
    if (!bar) return;
    const here = addressOf(location.href), all = kept(), views = all.filter((view) => listOf(view) === location.pathname);
    const links = views.map((view) => {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = view.at;
      if (view.at === here) link.setAttribute("aria-current", "page");
      link.append(named("bdi", view.name));
      item.append(link);
      return item;
    });
    const list = bar.querySelector("ul"), save = bar.querySelector("[data-view-save]"), edit = bar.querySelector("[data-view-edit]");
    list.replaceChildren(...links);
    list.hidden = views.length === 0;
    edit.hidden = all.length === 0;
    save.hidden = !here || views.some((view) => view.at === here);
    bar.hidden = list.hidden && edit.hidden && save.hidden;
  };

  const editAll = (full) => {
    const dialog = document.getElementById("view-edit"), row = dialog.querySelector("template");
    dialog.querySelector("ul").replaceChildren(...kept().map((view) => {
      const item = row.content.cloneNode(true).firstElementChild, input = item.querySelector("input");
      item.dataset.at = view.at;
      input.value = view.name;
      input.setAttribute("aria-label", `Name of ${view.name}`);
      item.querySelector(".muted").textContent = lists[listOf(view)];
      item.querySelector("button .sr").textContent = ` ${view.name}`;
      return item;
    }));
    dialog.querySelector("[data-view-full]").hidden = !full;
    dialog.showModal();
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.matches("[data-view-edit]")) editAll(false);
    else if (button?.matches("[data-view-save]")) {
      if (kept().length >= most) return editAll(true);
      const dialog = document.getElementById("view-save");
      dialog.querySelector("form").reset();
      dialog.showModal();
    } else if (button?.matches("[data-view-remove]")) {
      const dialog = button.closest("dialog");
      button.closest("li").remove();
      (dialog.querySelector("li input") ?? dialog.querySelector("[value=done]")).focus();
    } else if (button?.matches("[data-view-close]")) button.closest("dialog").close();
  });
  document.addEventListener("submit", (event) => {
    const dialog = event.target.closest("#view-save, #view-edit");
    if (!dialog) return;
    if (dialog.id === "view-edit") {
      return keep([...dialog.querySelectorAll("li")].flatMap((item) => sound({ name: item.querySelector("input").value, at: item.dataset.at })));
    }
    const at = addressOf(location.href), name = nameOf(dialog.querySelector("input").value);
    const others = kept().filter((view) => view.name !== name || listOf(view) !== location.pathname);
    if (at && name && others.length < most) keep([...others, { name, at }]);
  });
  // The button that led to the form is gone: the reader goes on at the view.
  document.addEventListener("close", (event) => {
    if (event.target.id === "view-save" && document.querySelector("[data-view-save]").hidden) document.querySelector("#views a[aria-current]")?.focus();
  }, true);
  for (const name of ["htmx:pushedIntoHistory", "htmx:historyRestore"]) document.addEventListener(name, show);
  addEventListener("storage", show); // another tab has changed them
  addEventListener("pageshow", show);

  /** The views with a text in their name, as rows of what search offers. */
  window.viewsNamed = (text) => {
    const row = document.getElementById("palette").querySelector("template");
    return kept().filter((view) => view.name.toLowerCase().includes(text.toLowerCase())).slice(0, 5).map((view) => {
      const item = row.content.cloneNode(true).firstElementChild;
      item.querySelector("a").href = view.at;
      item.querySelector(".name").textContent = view.name;
      item.querySelector(".list").textContent = lists[listOf(view)];
      return item;
    });
  };
  show();
})();
