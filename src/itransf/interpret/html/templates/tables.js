"use strict";
// Tables that can be sorted, searched, paged and saved as CSV; without this script all rows are shown.
function saveText(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function writeCsv(rows) {
  const quote = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return rows.map((row) => row.map((cell) => quote(String(cell))).join(",")).join("\n") + "\n";
}

function makeElement(tag, properties, parent) {
  const made = Object.assign(document.createElement(tag), properties);
  if (parent) parent.append(made);
  return made;
}

function activate(table) {
  const body = table.tBodies[0], all = [...body.rows], size = Number(table.dataset.page) || 25;
  let rows = all, page = 0;
  const tools = makeElement("div", { className: "tools" });
  table.closest(".scroll").before(tools);
  const search = makeElement("input", { type: "search", placeholder: "Find …" }, tools);
  search.setAttribute("aria-label", "Find rows");
  const back = makeElement("button", { type: "button", textContent: "‹", title: "Previous" }, tools);
  const where = makeElement("span", { className: "num soft" }, tools);
  const next = makeElement("button", { type: "button", textContent: "›", title: "Next" }, tools);
  const take = makeElement("button", { type: "button", textContent: "CSV" }, tools);
  const show = () => {
    const last = Math.max(0, Math.ceil(rows.length / size) - 1);
    page = Math.min(Math.max(page, 0), last);
    body.replaceChildren(...rows.slice(page * size, (page + 1) * size));
    const end = Math.min(rows.length, (page + 1) * size);
    where.textContent = rows.length ? `${page * size + 1} to ${end} of ${rows.length}` : "none";
    back.disabled = page === 0;
    next.disabled = page === last;
  };
  const value = (row, place) => {
    const cell = row.cells[place];
    return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim().toLowerCase();
  };
  const compare = (a, b) => {
    if (typeof a !== "number") return a.localeCompare(b);
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(b) - Number.isNaN(a); // values that were not measured count as the smallest
    return a - b;
  };
  [...table.tHead.rows[0].cells].forEach((heading, place) => {
    const button = makeElement("button", { type: "button", textContent: heading.textContent });
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const numbers = heading.classList.contains("n");
      const rising = heading.ariaSort ? heading.ariaSort !== "ascending" : !numbers;
      for (const other of table.tHead.rows[0].cells) other.ariaSort = null;
      heading.ariaSort = rising ? "ascending" : "descending";
      all.sort((a, b) => (rising ? 1 : -1) * compare(value(a, place), value(b, place)));
      find();
    });
  });
  const find = () => {
    const wanted = search.value.trim().toLowerCase();
    rows = wanted ? all.filter((row) => row.textContent.toLowerCase().includes(wanted)) : [...all];
    page = 0;
    show();
  };
  search.addEventListener("input", find);
  back.addEventListener("click", () => { page -= 1; show(); });
  next.addEventListener("click", () => { page += 1; show(); });
  take.addEventListener("click", () => {
    const lines = [table.tHead.rows[0], ...rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
    saveText(`${table.id || "table"}.csv`, writeCsv(lines));
  });
  if (all.length <= size) for (const surplus of [back, next]) surplus.hidden = true;
  show();
}

document.querySelectorAll("table.live").forEach(activate);

function openAround() { // a link may lead into a closed <details>
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const fold = target && target.closest("details");
  if (fold && !fold.open) { fold.open = true; target.scrollIntoView(); }
}
addEventListener("hashchange", openAround);
openAround();
