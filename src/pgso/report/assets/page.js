// What is on the page: every plot is data, and is drawn here.

const DATA = JSON.parse(document.getElementById("data").textContent);
const plots = {};
const find = (id) => document.getElementById(id);

function plotIn(id) {
  const host = find(id);
  if (!host) return null;
  plots[id] ??= new Plot(host);
  return plots[id];
}

function shadeConfusion() {
  for (const table of document.querySelectorAll("main table")) {
    if (table.tHead?.rows[0].cells[0].textContent !== "true") continue;
    for (const row of table.tBodies[0].rows) {
      const cells = [...row.cells].slice(1, -1), counts = cells.map((cell) => Number(cell.textContent.replaceAll(",", "")));
      for (const cell of [...row.cells].slice(1)) cell.style.paddingLeft = "10px"; // of a coloured cell, or beside one
      const total = counts.reduce((sum, count) => sum + count, 0) || 1;
      cells.forEach((cell, k) => {
        const colour = k === row.sectionRowIndex ? "--positive" : "--negative";
        cell.style.background = `color-mix(in srgb, var(${colour}) ${Math.round((50 * counts[k]) / total)}%, transparent)`;
      });
    }
  }
}

function showPlotNumbers(details) {
  while (details.children.length > 1) details.lastChild.remove();
  if (details.open) details.append(plots[details.dataset.plot].table());
}

for (const [id, spec] of Object.entries(DATA.plots)) plotIn(id)?.draw(spec);
shadeConfusion();
for (const details of document.querySelectorAll(".js-table")) {
  details.addEventListener("toggle", () => showPlotNumbers(details));
}
if (DATA.graph) new Neighbourhood(DATA.graph);
const explorer = DATA.runs?.length ? new Explorer() : null;
document.addEventListener("themechange", () => explorer?.show());
