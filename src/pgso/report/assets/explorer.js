// One run that the slider moves through: S, the certified interval, the spectrum and the entries.

const NAMES = ["m1", "m2", "m3", "e1", "e2", "e3", "a"];
const STYLES = {
  m1: ["first", ""], m2: ["second", ""], m3: ["third", ""],
  e1: ["first", "7 4"], e2: ["second", "7 4"], e3: ["third", "7 4"], a: ["fourth", "2 3"],
};
const EPOCHS = { label: "epochs", whole: true };

class Explorer {
  constructor() {
    this.slider = find("slider");
    this.fill("operator", [...new Set(DATA.runs.map((run) => run.operator))], (name) => DATA.labels[name]);
    if (DATA.runs.some((run) => run.operator === DATA.candidate)) find("operator").value = DATA.candidate;
    find("operator").addEventListener("change", () => this.changeOperator());
    find("seed").addEventListener("change", () => this.changeRun());
    find("layer").addEventListener("change", () => this.redraw());
    this.slider.addEventListener("input", () => this.show());
    find("to-chosen").addEventListener("click", () => this.go(this.run.chosen));
    find("play").addEventListener("click", () => this.play());
    find("heat")?.addEventListener("pointermove", (event) => this.readHeat(event));
    find("heat")?.addEventListener("keydown", (event) => this.stepHeat(event));
    find("heat-numbers")?.addEventListener("toggle", () => this.showHeatNumbers());
    this.changeOperator();
  }

  fill(id, values, text) {
    find(id).replaceChildren(...values.map((value) => new Option(text(value), value)));
    find(id).parentElement.hidden = values.length < 2;
  }

  changeOperator() {
    const runs = DATA.runs.filter((run) => run.operator === find("operator").value);
    this.fill("seed", runs.map((run) => run.seed), (seed) => seed);
    this.changeRun();
  }

  changeRun() {
    const layer = find("layer").value;
    this.run = DATA.runs.find((run) => run.operator === find("operator").value && String(run.seed) === find("seed").value);
    this.fill("layer", this.run.parameters[0].map((_, k) => k), (k) => k + 1);
    if (layer < this.run.parameters[0].length) find("layer").value = layer || 0;
    this.slider.max = this.run.epochs.length - 1;
    find("to-chosen").disabled = this.run.chosen === null;
    this.go(this.run.chosen ?? this.run.epochs.at(-1), true);
  }

  get marks() { return this.run.chosen === null ? [] : [[this.run.chosen, "quiet"]]; }
  get layer() { return Number(find("layer").value); }
  get place() { return Number(this.slider.value); }
  get epoch() { return this.run.epochs[this.place]; }
  parametersAt(place) { return this.run.parameters[place][this.layer]; }
  intervalAt(place) { return this.run.intervals?.[place]?.[this.layer] ?? null; }

  placeOf(epoch) {
    const distance = this.run.epochs.map((each) => Math.abs(each - epoch));
    return distance.indexOf(Math.min(...distance));
  }

  go(epoch, everything = false) {
    this.slider.value = this.placeOf(epoch);
    if (everything) this.redraw(); else this.show();
  }

  play() {
    const button = find("play"), running = button.getAttribute("aria-pressed") === "true";
    clearInterval(this.timer);
    button.setAttribute("aria-pressed", String(!running));
    button.textContent = running ? "Play" : "Pause";
    if (running) return;
    if (this.place >= Number(this.slider.max)) this.slider.value = 0;
    this.timer = setInterval(() => {
      if (this.place >= Number(this.slider.max)) return this.play();
      this.slider.value = this.place + 1;
      this.show();
    }, 60);
  }

  redraw() {
    this.drawTrajectory();
    this.drawSupport();
    this.show();
    for (const details of document.querySelectorAll("#explorer .js-table[open]")) showPlotNumbers(details);
  }

  drawTrajectory() {
    plotIn("trajectory").draw({
      axis: "x", height: 320, x: EPOCHS, y: { label: "value" }, marks: this.marks,
      cursor: this.epoch, onPick: (epoch) => this.go(epoch),
      series: NAMES.map((name, k) => ({
        name, colour: STYLES[name][0], dash: STYLES[name][1],
        points: this.run.epochs.map((epoch, place) => [epoch, this.parametersAt(place)[k]]),
      })),
    });
  }

  drawSupport() {
    const known = this.run.epochs.map((epoch, place) => [epoch, this.intervalAt(place)])
      .filter(([, bounds]) => bounds && bounds[0] !== null && bounds[1] !== null);
    const plot = plotIn("support");
    if (!plot) return;
    find("support-panel").hidden = !known.length;
    const colour = this.run.operator;
    const end = (name, k) => ({ name, colour, quiet: true, points: known.map(([epoch, bounds]) => [epoch, bounds[k]]) });
    const low = end("lower bound", 0);
    low.band = known.map(([epoch, bounds]) => [epoch, ...bounds]);
    plot.draw({
      axis: "x", x: EPOCHS, y: { label: "bounds of eigenvalues" }, marks: this.marks, cursor: this.epoch,
      onPick: (epoch) => this.go(epoch), series: [low, end("upper bound", 1)],
    });
  }

  show() {
    const { epoch } = this, S = this.parametersAt(this.place);
    find("epoch").value = epoch;
    const words = epoch === 0 ? "epochs: the start" : epoch === this.run.chosen ? "epochs: the chosen one" : "epochs";
    find("epoch-note").textContent = words;
    this.slider.setAttribute("aria-valuetext", `${epoch} ${words}`);
    plotIn("trajectory").moveCursor(epoch);
    plotIn("support")?.moveCursor(epoch);
    this.showValues(S);
    this.showHeat(S);
    this.drawSpectrum(S);
  }

  showValues(S) {
    const chosen = this.run.chosen === null ? null : this.parametersAt(this.placeOf(this.run.chosen));
    const rows = NAMES.map((name, k) => this.valueRow(name, [this.parametersAt(0)[k], S[k], chosen?.[k]]));
    const places = [0, this.place, this.run.chosen === null ? null : this.placeOf(this.run.chosen)];
    ["lower bound", "upper bound"].slice(0, this.run.intervals ? 2 : 0).forEach((name, end) => {
      rows.push(this.valueRow(name, places.map((place) => (place === null ? null : this.intervalAt(place)?.[end]))));
    });
    find("values").tBodies[0].replaceChildren(...rows);
    const [m1, m2, m3, e1, e2, e3, a] = S.map((value) => fixed(value, 2));
    find("formula").replaceChildren(
      `γ = ${m1} Dₐ`, power(e1), joined(m2), " Dₐ", power(e2), " Aₐ Dₐ", power(e3), joined(m3), ` I, with a = ${a}`,
    );
  }

  valueRow(name, [start, now, chosen]) {
    const row = element("tr", { "data-name": name });
    element("th", { scope: "row" }, row, name);
    element("td", {}, row, fixed(start, 3));
    element("td", { class: "now" }, row, fixed(now, 3));
    element("td", {}, row, fixed(chosen, 3));
    return row;
  }

  showHeat(S) {
    const { subgraph } = this.run;
    if (!find("heat-panel")) return;
    find("heat-panel").hidden = !subgraph;
    find("elsewhere").hidden = Boolean(subgraph);
    if (!subgraph) return;
    this.matrix = operatorEntries(S, subgraph);
    // One scale for the run, so that a change of colour is a change of value.
    const ends = [0, this.placeOf(this.run.chosen ?? 0), this.run.epochs.length - 1];
    const sizes = ends.flatMap((place) => operatorEntries(this.parametersAt(place), subgraph).flat().map(Math.abs))
      .filter((size) => size > 0).sort((p, q) => p - q);
    // A few large entries would leave the rest without colour.
    const full = Math.min(2 * sizes[Math.floor(sizes.length / 2)], sizes.at(-1)) || 1;
    drawHeat(find("heat"), this.matrix, full);
    find("heat-low").textContent = `≤ ${fixed(-full, 2)}`;
    find("heat-high").textContent = `≥ ${fixed(full, 2)}`;
    this.readCell(...(this.cell ?? []));
    this.showHeatNumbers();
  }

  showHeatNumbers() {
    const details = find("heat-numbers");
    while (details?.children.length > 1) details.lastChild.remove();
    if (details?.open) details.append(tableOf(["node", ...this.matrix.keys()].map(String), this.matrix.map((row, i) => [String(i), ...row.map(shown)])));
  }

  readHeat(event) {
    const box = find("heat").getBoundingClientRect(), n = this.matrix.length;
    const i = Math.min(n - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * n)));
    const j = Math.min(n - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * n)));
    this.readCell(i, j);
  }

  stepHeat(event) {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!by) return;
    event.preventDefault();
    const n = this.matrix.length, [i, j] = this.cell ?? [0, 0];
    this.readCell((i + by[0] + n) % n, (j + by[1] + n) % n);
  }

  readCell(i, j) {
    if (i === undefined) return;
    this.cell = [i, j];
    find("heat-read").textContent = `Row ${i}, column ${j}: ${fixed(this.matrix[i][j], 3)}`;
  }

  drawSpectrum(S) {
    const plot = plotIn("spectrum");
    if (!plot) return;
    const { run, layer } = this, colour = run.operator, bounds = this.intervalAt(this.place);
    const curve = (name, density, more) => ({ name, points: density.grid.map((x, k) => [x, density.density[k]]), ...more });
    const frames = run.byEpoch.filter((each) => (each.operator ?? 0) === layer)
      .map((each) => ({ ...each, at: each.epoch + 1 }));
    if (run.start[layer]) frames.push({ ...run.start[layer], at: 0 });
    if (run.learned[layer] && run.chosen !== null) frames.push({ ...run.learned[layer], at: run.chosen });
    frames.sort((p, q) => Math.abs(p.at - this.epoch) - Math.abs(q.at - this.epoch));
    const [now] = run.byEpoch.length ? frames : [];
    const series = [];
    if (run.start[layer]) series.push(curve("start", run.start[layer], { colour: "fixed", dash: "7 4" }));
    if (run.learned[layer]) series.push(curve("chosen", run.learned[layer], { colour, dash: "2 3" }));
    if (now) series.push(curve("now", now, { colour: "fourth" }));
    const rug = run.subgraph ? subgraphEigenvalues(S, run.subgraph) : [];
    const reach = [...(run.intervals ?? []).flatMap((each) => each?.[layer] ?? []), ...series.flatMap((each) => each.points.map((point) => point[0]))];
    const notes = [];
    if (bounds) notes.push("Shaded: the certified interval at this epoch.");
    if (series.length) notes.push("Curves: the density of the eigenvalues.");
    if (now && now.at !== this.epoch) notes.push(`Nearest density: after ${now.at} epochs.`);
    if (rug.length) notes.push("Ticks: eigenvalues on the nodes shown below.");
    find("spectrum-panel").hidden = !series.length && !rug.length;
    find("spectrum-note").textContent = notes.join(" ");
    plot.draw({
      axis: "x", series, rug, shade: bounds, shadeColour: colour,
      x: { label: "eigenvalue", domain: fitted([...reach, ...rug], 0.05) },
      y: { label: series.length ? "density" : "", ...(series.length ? {} : { domain: [0, 1], ticks: [] }) },
    });
  }
}

// A number with so many digits and a real minus; 0 has none.
function fixed(value, digits) {
  if (value === null || value === undefined) return "–";
  return value.toFixed(digits).replace(/^-(?=0\.0*$)/, "").replace("-", "−");
}

function joined(factor) {
  return factor.startsWith("−") ? ` − ${factor.slice(1)}` : ` + ${factor}`;
}

function power(exponent) {
  const sup = document.createElement("sup");
  sup.textContent = exponent;
  return sup;
}
