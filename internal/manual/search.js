// The search of the static pages: the server ranks better, but needs to be there.
const question = new URLSearchParams(location.search).get("q") || "";
document.querySelector("#q").value = question;
const terms = question.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];
const stem = (word) => word.replace(/(ies|ing|ed|es|s|e|y)$/, (end) => (word.length - end.length > 2 ? "" : end));
const scored = [];
for (const page of sections) {
  const title = page.title.toLowerCase(), text = page.text.toLowerCase();
  let score = 0;
  for (const term of terms.map(stem)) score += (title.includes(term) ? 5 : 0) + Math.min(text.split(term).length - 1, 4);
  if (score > 0) scored.push([score, page]);
}
scored.sort((a, b) => b[0] - a[0]);
for (const [, page] of scored.slice(0, 20)) {
  const item = document.createElement("li"), link = document.createElement("a"), text = document.createElement("p");
  link.href = page.href;
  link.textContent = page.title;
  text.textContent = page.text.slice(0, 200);
  item.append(link, text);
  document.querySelector("#hits").append(item);
}
