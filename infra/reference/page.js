"use strict";
const box = document.querySelector("input");
const found = document.getElementById("found");
const parts = [...document.querySelectorAll("[data-find]")].map((node) => [node, node.textContent.toLowerCase()]);
const rows = [...document.querySelectorAll(".fields tbody tr")].map((node) => [node, node.textContent.toLowerCase()]);
function find() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const [node, text] of parts) {
    node.hidden = !words.every((word) => text.includes(word));
    if (!node.hidden) count += 1;
  }
  for (const [row, text] of rows) row.classList.toggle("hit", words.length > 0 && words.every((word) => text.includes(word)));
  if (words.length) for (const part of document.querySelectorAll("section details")) part.open = part.querySelector(".hit") !== null;
  for (const title of document.querySelectorAll("main h2"))
    title.hidden = words.length > 0 && !parts.some(([node]) => !node.hidden && node.dataset.find === title.id);
  found.textContent = words.length ? count + " found" : "";
}
box.addEventListener("input", find);
addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== box) { event.preventDefault(); box.focus(); }
  if (event.key === "Escape") { box.value = ""; find(); }
});
addEventListener("hashchange", () => { if (box.value) { box.value = ""; find(); document.querySelector(location.hash)?.scrollIntoView(); } });
if (location.protocol.startsWith("http"))
  for (const node of document.querySelectorAll(".origin")) node.textContent = location.origin + location.pathname.replace(/\/docs$/, "");
