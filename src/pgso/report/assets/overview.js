// Tables that are sorted by a click on a column's name, and a box that hides rows.

const NUMBER = /^[+\-−]?[\d,]*\.?\d+/;

function keyOf(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = text.match(NUMBER);
  return number ? Number(number[0].replaceAll(",", "").replace("−", "-")) : text.toLowerCase();
}

function before(a, b) {
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}

function sortBy(table, column) {
  const heads = [...table.tHead.rows[0].cells];
  const ascending = heads[column].getAttribute("aria-sort") !== "ascending";
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const isDate = (row) => /^\d{4}-\d\d-\d\d /.test(row.cells[column].textContent);
  const rows = [...table.tBodies[0].rows];
  const key = rows.some(isDate) ? (row) => row.cells[column].textContent : (row) => keyOf(row, column);
  rows.sort((p, q) => (ascending ? 1 : -1) * before(key(p), key(q)));
  table.tBodies[0].append(...rows);
}

for (const table of document.querySelectorAll("table")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sortBy(table, column));
    head.replaceChildren(button);
  });
}

document.getElementById("filter").addEventListener("input", (event) => {
  const wanted = event.target.value.trim().toLowerCase();
  let shown = 0;
  for (const row of document.querySelectorAll("tbody tr")) {
    row.hidden = wanted !== "" && !row.textContent.toLowerCase().includes(wanted);
    shown += !row.hidden;
  }
  document.getElementById("count").textContent = wanted ? `${shown} rows` : "";
});
