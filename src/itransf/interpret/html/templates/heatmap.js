"use strict";
// The attention heat map: hover for weights, tap a concept to sort by it, a relation to see who shares its concepts.
function drawHeatmap(root) {
  const data = JSON.parse(document.getElementById(root.dataset.source).textContent);
  const SVG = "http://www.w3.org/2000/svg", HIGH = 18, LONGEST = 40; // of the name of a concept
  const rows = data.rows.map(([relation, side, flat], place) => {
    const weights = new Map();
    for (let i = 0; i < flat.length; i += 2) weights.set(flat[i], flat[i + 1]);
    const [label, name, triples] = data.relations[relation];
    return { relation, side, weights, place, label, name, triples };
  });
  const find = (name) => root.querySelector(`[data-part=${name}]`);
  const [search, order, count, take] = ["search", "order", "count", "take"].map(find);
  const frame = find("frame"), tip = makeElement("div", { className: "tip", hidden: true }, document.body);
  let sorted = null, chosen = null, shown = [], columns = [], WIDE = 24;

  const make = (tag, attributes, parent) => {
    const node = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    parent.append(node);
    return node;
  };
  const nameConcept = (column) => {
    const [number, given, suggested] = data.concepts[column], called = `${data.antisymmetric[column] ? "antisymmetric " : ""}concept ${number}`;
    if (given) return `${called}: ${given}`;
    return suggested ? `${called} (${suggested})` : called;
  };
  const sided = data.parts.length > 1, nameSide = (row) => data.parts[row.side];

  function pick() {
    const wanted = search.value.trim().toLowerCase();
    let found = rows;
    if (wanted) found = rows.filter((row) => `${row.label} ${row.name}`.toLowerCase().includes(wanted));
    const most = Number(count.value) || Infinity;
    const frequent = [...new Set(found.map((row) => row.relation))].slice().sort((a, b) => a - b).slice(0, most);
    const kept = new Set(frequent); // relations are numbered by falling frequency
    found = found.filter((row) => kept.has(row.relation));
    const by = {
      structure: (a, b) => a.place - b.place,
      name: (a, b) => a.label.localeCompare(b.label) || a.side - b.side,
      frequency: (a, b) => a.relation - b.relation || a.side - b.side,
      concept: (a, b) => Math.abs(b.weights.get(sorted) || 0) - Math.abs(a.weights.get(sorted) || 0) || a.place - b.place,
    };
    return found.sort(by[sorted === null ? order.value : "concept"]);
  }

  function pickColumns() { // those that a shown row uses, similar ones next to each other
    const used = new Set();
    for (const row of shown) for (const [column, weight] of row.weights) if (Math.abs(weight) >= 0.02 * data.limit) used.add(column);
    columns = [...used].sort((a, b) => a - b);
    if (shown.length < data.rows.length && sorted === null && order.value === "structure") {
      const first = new Map(); // of some of the rows: columns are ordered by these rows
      shown.forEach((row, place) => { for (const [column, weight] of row.weights) {
        const [sum, total] = first.get(column) || [0, 0];
        first.set(column, [sum + place * Math.abs(weight), total + Math.abs(weight)]);
      } });
      columns.sort((a, b) => first.get(a)[0] / first.get(a)[1] - first.get(b)[0] / first.get(b)[1]);
    }
  }

  function drawHeads() {
    const called = columns.map((column) => {
      const [number, given, suggested] = data.concepts[column], name = given || suggested;
      return `${number}${data.antisymmetric[column] ? "a" : ""} ${name.length > LONGEST ? name.slice(0, LONGEST - 1) + "…" : name}`.trim();
    });
    const turned = called.some((name) => name.includes(" ") || (WIDE < 24 && name.length > 2));
    const heads = make("svg", { width: columns.length * WIDE }, find("heads"));
    const texts = columns.map((column, at) => {
      const text = make("text", { tabindex: 0, role: "button", class: sorted === column ? "on" : "" }, heads);
      text.textContent = called[at];
      make("title", {}, text).textContent = `Sort by ${nameConcept(column)}`;
      const sort = () => { sorted = sorted === column ? null : column; draw(); };
      text.addEventListener("click", sort);
      text.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
      return text;
    });
    const high = turned ? Math.ceil(Math.max(...texts.map((text) => text.getComputedTextLength()))) + 10 : 24;
    heads.setAttribute("height", high);
    texts.forEach((text, at) => {
      const x = at * WIDE + WIDE / 2;
      const place = turned ? { transform: `translate(${x + 4},${high - 5}) rotate(-90)` } : { x, y: high - 7, "text-anchor": "middle" };
      for (const [key, value] of Object.entries(place)) text.setAttribute(key, value);
    });
  }

  function drawCells() {
    const wide = columns.length * WIDE, high = shown.length * HIGH, places = new Map(columns.map((column, at) => [column, at]));
    const cells = make("svg", { width: wide, height: high }, find("cells"));
    let lines = "";
    for (let i = 0; i <= shown.length; i += 1) lines += `M0 ${i * HIGH}H${wide}`;
    for (let i = 0; i <= columns.length; i += 1) lines += `M${i * WIDE} 0V${high}`;
    make("path", { d: lines, class: "grid" }, cells);
    shown.forEach((row, place) => {
      const shares = chosen === null || row.relation === chosen.relation || [...row.weights].some(
        ([column, weight]) => Math.abs(weight) >= 0.05 * data.limit && Math.abs(chosen.weights.get(column) || 0) >= 0.05 * data.limit);
      const group = make("g", shares ? {} : { class: "faded" }, cells);
      for (const [column, weight] of row.weights) {
        if (!places.has(column)) continue;
        const share = Math.min(1, Math.abs(weight) / data.limit);
        make("rect", { x: places.get(column) * WIDE + 1, y: place * HIGH + 1, width: WIDE - 1.5, height: HIGH - 1.5, rx: 2,
          class: weight < 0 ? "minus" : "plus", "fill-opacity": (0.06 + 0.94 * share).toFixed(3) }, group);
      }
    });
    const cross = make("rect", { width: WIDE, height: HIGH, class: "cross", visibility: "hidden" }, cells);
    const locate = (event) => {
      const box = cells.getBoundingClientRect();
      return [Math.floor((event.clientX - box.left) / WIDE), Math.floor((event.clientY - box.top) / HIGH)];
    };
    cells.addEventListener("pointermove", (event) => {
      const [at, place] = locate(event), row = shown[place], column = columns[at];
      if (!row || column === undefined) return;
      for (const [key, value] of Object.entries({ x: at * WIDE, y: place * HIGH, visibility: "visible" })) cross.setAttribute(key, value);
      const weight = row.weights.get(column);
      const told = weight === undefined ? "not used" : `weight ${weight.toFixed(3)}`;
      const triples = `${row.triples.toLocaleString("en")} training triples`;
      showTip(event, [sided ? `${row.label} · ${nameSide(row)}` : row.label, nameConcept(column), told, triples]);
    });
    cells.addEventListener("pointerleave", () => { tip.hidden = true; cross.setAttribute("visibility", "hidden"); });
    cells.addEventListener("click", (event) => {
      const column = columns[locate(event)[0]];
      if (column === undefined) return;
      sorted = sorted === column ? null : column;
      draw();
    });
  }

  function showTip(event, lines) {
    tip.replaceChildren(...lines.map((line, place) => makeElement("div", { textContent: line, style: place ? "" : "font-weight:600" })));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(6, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18}px`;
  }

  function draw() {
    for (const part of ["heads", "names", "cells"]) find(part).replaceChildren();
    shown = pick();
    pickColumns();
    for (const row of shown) {
      const line = makeElement("div", { title: `${row.label}${sided ? ` (${nameSide(row)})` : ""}: show who shares its concepts`, className: row === chosen ? "on" : "" }, find("names"));
      makeElement("bdi", { textContent: row.label }, makeElement("span", {}, line));
      if (sided) makeElement("b", { textContent: nameSide(row)[0].toUpperCase() }, line);
      line.addEventListener("click", () => { chosen = chosen === row ? null : row; draw(); });
    }
    const room = frame.clientWidth - find("names").offsetWidth;
    WIDE = Math.max(16, Math.min(34, Math.floor(room / Math.max(columns.length, 1))));
    drawHeads();
    drawCells();
    find("corner").textContent = sorted === null ? "concept" : `by ${data.concepts[sorted][0]} ↓`;
    find("state").textContent = `${shown.length} of ${data.rows.length} ${sided ? "sides" : "relations"}, ${columns.length} of ${data.concepts.length} concepts`;
  }

  for (const control of [search, count]) control.addEventListener("input", draw);
  order.addEventListener("input", () => { sorted = null; draw(); });
  take.addEventListener("click", () => {
    const lines = [["relation", "label", "side", "concept", "name", "weight"]];
    for (const row of shown) for (const [column, weight] of row.weights) {
      lines.push([row.name, row.label, nameSide(row), data.concepts[column][0], data.concepts[column][1], weight]);
    }
    saveText("attention.csv", writeCsv(lines));
  });
  frame.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
  draw();
}

document.querySelectorAll("[data-heatmap]").forEach(drawHeatmap);
