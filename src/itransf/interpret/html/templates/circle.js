"use strict";
// The sharing graph: tap or hover a relation to see what it shares and with whom.
function activateCircle(root) {
  const drawing = root.querySelector("svg"), note = root.querySelector("[data-part=note]");
  const nodes = [...drawing.querySelectorAll(".node")], paths = [...drawing.querySelectorAll("path[data-a]")];
  const hint = note.textContent;
  let held = null;
  const choose = (node) => {
    drawing.classList.toggle("chosen", node !== null);
    const near = new Set();
    for (const path of paths) {
      const on = node !== null && (path.dataset.a === node.dataset.n || path.dataset.b === node.dataset.n);
      path.classList.toggle("on", on);
      if (on) near.add(path.dataset.a).add(path.dataset.b);
    }
    for (const other of nodes) other.classList.toggle("on", other === node || near.has(other.dataset.n));
    note.textContent = node === null ? hint : node.querySelector("title").textContent;
  };
  for (const node of nodes) {
    node.addEventListener("pointerenter", () => { if (!held) choose(node); });
    node.addEventListener("pointerleave", () => { if (!held) choose(null); });
    node.addEventListener("click", (event) => { event.stopPropagation(); held = held === node ? null : node; choose(held); });
    node.addEventListener("keydown", (event) => { if (event.key === "Enter") { held = held === node ? null : node; choose(held); } });
  }
  drawing.addEventListener("click", () => { held = null; choose(null); });
}

document.querySelectorAll("[data-circle]").forEach(activateCircle);
