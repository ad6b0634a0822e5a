// A plot in SVG: axes, curves, bands; read by pointer or arrow keys, zoomed by dragging.

const NAMESPACE = "http://www.w3.org/2000/svg";
const MARGIN = { left: 52, right: 14, top: 10, bottom: 40 };
let plotCount = 0;

function element(tag, attributes = {}, parent = null, text = "") {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function shape(tag, attributes, parent, colour = null) {
  const made = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (colour) made.style.stroke = `var(--${colour})`;
  parent.append(made);
  return made;
}

function niceTicks(low, high, count, least = 0) {
  const rough = Math.max((high - low) / count, least);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((each) => each >= rough);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(k * step);
  return ticks;
}

function shown(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value);
  if (size !== 0 && (size < 0.001 || size >= 1e5)) return value.toExponential(2);
  return value.toFixed(size >= 10 ? 2 : 3).replace("-", "−");
}

function tickText(value, step) {
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
  return value.toFixed(digits).replace(/^-(?=0\.?0*$)/, "").replace("-", "−");
}

function fitted(values, ratio = 0.06) {
  const finite = values.filter((value) => Number.isFinite(value));
  if (!finite.length) return [0, 1];
  const low = Math.min(...finite), high = Math.max(...finite);
  const room = (high - low) * ratio || Math.abs(high) * 0.05 || 0.5;
  return [low - room, high + room];
}

// spec: x, y: {label, ticks?, domain?, whole?: ticks at whole numbers only}; axis: "x" or "y", the one that is zoomed and read along;
// series: [{name, colour, dash, points: [[x, y]], band: [[x, low, high]], dots, hidden}];
// dots: "only" draws points without a line; marks: [[x, colour]], thin lines; colours are names of report.css;
// means: [{x, mean, interval: [low, high], colour}]; shade: [from, to]; rug: [x]; cursor: x; onPick(x).
class Plot {
  constructor(host) {
    this.host = host;
    this.id = `plot-${plotCount++}`;
    this.off = new Set();
    this.range = null;
    this.legend = element("div", { class: "legend" }, host);
    this.reset = element("button", { type: "button", class: "reset" }, host, "Reset zoom");
    this.reset.hidden = true;
    this.reset.addEventListener("click", () => this.zoom(null));
    this.root = shape("svg", { tabindex: "0", role: "img", "aria-label": host.dataset.label }, host);
    this.readout = element("div", { class: "readout", role: "status" }, host);
    this.readout.hidden = true;
    this.listen();
    new ResizeObserver(() => this.render()).observe(host);
  }

  draw(spec) {
    this.spec = spec;
    this.drawLegend();
    this.render();
  }

  listen() {
    const root = this.root;
    root.addEventListener("pointerdown", (event) => {
      this.from = this.position(event);
      if (event.pointerType === "mouse") root.setPointerCapture(event.pointerId);
    });
    root.addEventListener("pointermove", (event) => this.move(event));
    root.addEventListener("pointerup", (event) => this.release(event));
    root.addEventListener("pointercancel", () => (this.from = null));
    root.addEventListener("pointerleave", () => this.hideReadout());
    root.addEventListener("dblclick", () => this.zoom(null));
    root.addEventListener("blur", () => this.hideReadout());
    root.addEventListener("keydown", (event) => this.key(event));
  }

  get visible() { return this.spec.series.filter((each) => !this.off.has(each.name)); }

  drawLegend() {
    this.legend.replaceChildren();
    for (const each of this.spec.series.filter((one) => one.name && !one.quiet)) {
      const button = element("button", { type: "button", "aria-pressed": String(!this.off.has(each.name)) }, this.legend);
      const key = shape("svg", { viewBox: "0 0 24 10", "aria-hidden": "true" }, button);
      shape("line", { x1: 0, x2: 24, y1: 5, y2: 5, "stroke-width": 3, "stroke-dasharray": each.dash || "" }, key, each.colour);
      button.append(each.name);
      button.addEventListener("click", () => {
        if (!this.off.delete(each.name)) this.off.add(each.name);
        button.setAttribute("aria-pressed", String(!this.off.has(each.name)));
        this.render();
      });
    }
    this.legend.hidden = !this.legend.children.length;
  }

  domains() {
    const { spec, range } = this;
    const along = (pick) => this.visible.flatMap(pick);
    const xs = along((each) => [...each.points, ...(each.band || [])].map((point) => point[0]));
    let x = spec.x.domain || fitted([...xs, ...(spec.shade || []), ...(spec.rug || [])], 0.01);
    if (range && spec.axis === "x") x = range;
    const inside = (point) => point[0] >= x[0] && point[0] <= x[1];
    const ys = along((each) => [
      ...each.points.filter(inside).map((point) => point[1]),
      ...(each.band || []).filter(inside).flatMap((point) => [point[1], point[2]]),
    ]).concat((spec.means || []).flatMap((each) => [...(each.interval || []), each.mean]));
    let y = spec.y.domain || fitted(ys);
    if (range && spec.axis === "y") y = range;
    return [x, y];
  }

  render() {
    const width = this.host.clientWidth;
    if (!this.spec || !width) return;
    const height = this.spec.height || 260;
    const { root, spec } = this;
    root.replaceChildren();
    root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    root.setAttribute("height", height);
    const [x, y] = this.domains();
    const right = width - MARGIN.right, bottom = height - MARGIN.bottom;
    this.x = (value) => MARGIN.left + ((value - x[0]) / (x[1] - x[0])) * (right - MARGIN.left);
    this.y = (value) => bottom - ((value - y[0]) / (y[1] - y[0])) * (bottom - MARGIN.top);
    this.invert = (at) => spec.axis === "y"
      ? y[0] + ((bottom - at) / (bottom - MARGIN.top)) * (y[1] - y[0])
      : x[0] + ((at - MARGIN.left) / (right - MARGIN.left)) * (x[1] - x[0]);
    this.frame = { right, bottom, width, height };
    this.drawAxes(x, y);
    const clip = shape("clipPath", { id: this.id }, root);
    shape("rect", { x: MARGIN.left, y: MARGIN.top - 4, width: Math.max(right - MARGIN.left + 4, 0), height: bottom - MARGIN.top + 4 }, clip);
    const area = shape("g", { "clip-path": `url(#${this.id})` }, root);
    this.drawMarks(area);
    this.visible.forEach((each) => this.drawSeries(each, area));
    (spec.means || []).forEach((each) => this.drawMean(each, area));
    this.crosshair = shape("line", { class: "crosshair", y1: MARGIN.top, y2: bottom, visibility: "hidden" }, root);
    this.selection = shape("rect", { class: "selection", visibility: "hidden" }, root);
    this.moveCursor(spec.cursor);
  }

  drawAxes(x, y) {
    const { root, spec } = this, { right, bottom, width, height } = this.frame;
    const yTicks = spec.y.ticks || niceTicks(y[0], y[1], 6);
    for (const tick of yTicks) {
      const at = this.y(tick);
      shape("line", { class: Math.abs(tick) < 1e-12 ? "zero" : "grid", x1: MARGIN.left, x2: right, y1: at, y2: at }, root);
      shape("text", { x: MARGIN.left - 8, y: at + 4, "text-anchor": "end" }, root).textContent = tickText(tick, yTicks[1] - yTicks[0] || 1);
    }
    const xTicks = spec.x.ticks || niceTicks(x[0], x[1], Math.max(3, width / 80), spec.x.whole ? 1 : 0).map((tick, _, all) => [tick, tickText(tick, all[1] - all[0] || 1)]);
    for (const [tick, text] of xTicks) {
      const at = this.x(tick);
      if (at < MARGIN.left - 1 || at > right + 1) continue;
      shape("line", { class: "grid", x1: at, x2: at, y1: MARGIN.top, y2: bottom }, root);
      shape("text", { x: at, y: bottom + 16, "text-anchor": "middle" }, root).textContent = text;
    }
    shape("text", { x: (MARGIN.left + right) / 2, y: height - 6, "text-anchor": "middle" }, root).textContent = spec.x.label;
    const middle = (MARGIN.top + bottom) / 2;
    shape("text", { x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, root).textContent = spec.y.label;
  }

  drawMarks(area) {
    const { spec, frame } = this;
    if (spec.shade) {
      const [from, to] = spec.shade.map(this.x);
      const box = shape("rect", { class: "band", x: from, width: Math.max(to - from, 1), y: MARGIN.top, height: frame.bottom - MARGIN.top }, area);
      box.style.fill = `var(--${spec.shadeColour})`;
    }
    for (const [x, colour] of spec.marks || []) {
      shape("line", { class: "mark", x1: this.x(x), x2: this.x(x), y1: MARGIN.top, y2: frame.bottom }, area, colour);
    }
    for (const value of spec.rug || []) {
      shape("line", { class: "rug", x1: this.x(value), x2: this.x(value), y1: frame.bottom - 14, y2: frame.bottom }, area);
    }
  }

  drawSeries(each, area) {
    const group = shape("g", { "data-name": each.name || "" }, area);
    if (each.band) {
      const top = each.band.map(([x, , high]) => `${this.x(x)},${this.y(high)}`);
      const low = each.band.map(([x, value]) => `${this.x(x)},${this.y(value)}`).reverse();
      const band = shape("polygon", { class: "band", points: [...top, ...low].join(" ") }, group);
      band.style.fill = `var(--${each.colour})`;
    }
    const points = each.points.filter((point) => point[1] !== null);
    const path = points.map(([x, y], k) => `${k ? "L" : "M"}${this.x(x).toFixed(2)} ${this.y(y).toFixed(2)}`).join("");
    if (path && each.dots !== "only") shape("path", { class: "curve", d: path, "stroke-dasharray": each.dash || "", "stroke-width": each.width || 2 }, group, each.colour);
    for (const [x, y] of each.dots || points.length === 1 ? points : []) {
      const dot = shape("circle", { class: "dot", cx: this.x(x), cy: this.y(y), r: each.dots === "only" ? 3 : 4 }, group);
      dot.style.fill = `var(--${each.colour})`;
    }
  }

  drawMean({ x, mean, interval, colour }, area) {
    const at = this.x(x), y = this.y(mean);
    if (interval) {
      const [low, high] = interval;
      const d = `M${at} ${this.y(low)}V${this.y(high)}M${at - 6} ${this.y(low)}h12M${at - 6} ${this.y(high)}h12`;
      shape("path", { d, "stroke-width": 2, fill: "none" }, area, colour);
    }
    const diamond = shape("path", { d: `M${at} ${y - 8}l7 8l-7 8l-7 -8z` }, area);
    diamond.style.fill = `var(--${colour})`;
  }

  moveCursor(value) {
    if (this.spec) this.spec.cursor = value;
    if (!this.frame || value === undefined || value === null) return;
    this.cursor?.remove();
    const at = this.x(value);
    const inside = at >= MARGIN.left - 1 && at <= this.frame.right + 1;
    this.cursor = shape("line", { class: "cursor", x1: at, x2: at, y1: MARGIN.top, y2: this.frame.bottom, visibility: inside ? "visible" : "hidden" }, this.root);
  }

  position(event) {
    const box = this.root.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  move(event) {
    if (!this.frame) return;
    const at = this.position(event);
    if (!this.from) return this.read(at);
    const [a, b] = this.dragged(at);
    const box = this.spec.axis === "y"
      ? { x: MARGIN.left, width: this.frame.right - MARGIN.left, y: a, height: b - a }
      : { x: a, width: b - a, y: MARGIN.top, height: this.frame.bottom - MARGIN.top };
    for (const [name, value] of Object.entries(box)) this.selection.setAttribute(name, value);
    this.selection.setAttribute("visibility", "visible");
  }

  dragged(at) {
    const place = this.spec.axis === "y" ? 1 : 0;
    return [this.from[place], at[place]].sort((a, b) => a - b);
  }

  release(event) {
    if (!this.from) return;
    const at = this.position(event), [a, b] = this.dragged(at);
    this.from = null;
    this.selection.setAttribute("visibility", "hidden");
    if (b - a > 8) this.zoom([this.invert(a), this.invert(b)].sort((p, q) => p - q));
    else if (this.spec.onPick) this.spec.onPick(this.invert(at[0]));
  }

  zoom(range) {
    this.range = range;
    this.reset.hidden = !range;
    this.hideReadout();
    this.render();
  }

  key(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1 };
    if (event.key in steps) this.step(steps[event.key]);
    else if (event.key === "Escape") this.zoom(null);
    else if (event.key === "+" || event.key === "=") this.scale(0.5);
    else if (event.key === "-") this.scale(2);
    else return;
    event.preventDefault();
  }

  scale(factor) {
    const [x, y] = this.domains(), [low, high] = this.spec.axis === "y" ? y : x;
    const middle = this.spec.axis === "x" && this.reading ? this.reading[0] : (low + high) / 2;
    const half = ((high - low) / 2) * factor;
    this.zoom([middle - half, middle + half]);
  }

  step(by) {
    const points = this.visible.flatMap((each) => each.points).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const stops = this.spec.axis === "y" ? points : points.filter((point, k) => !k || point[0] !== points[k - 1][0]);
    if (!stops.length) return;
    const now = this.reading ? stops.findIndex((point) => point[0] === this.reading[0] && (this.spec.axis === "x" || point[1] === this.reading[1])) : -1;
    const next = stops[Math.max(0, Math.min(stops.length - 1, now + by))];
    this.read([this.x(next[0]), this.y(next[1])]);
  }

  // Read what is nearest: one point of one line, or every curve at one x.
  read([px, py]) {
    const distance = (point) => this.spec.axis === "y"
      ? Math.hypot(this.x(point[0]) - px, this.y(point[1]) - py) : Math.abs(this.x(point[0]) - px);
    let best = null, nearest = Infinity;
    for (const each of this.visible) for (const point of each.points) {
      const far = point[1] === null ? Infinity : distance(point);
      if (far < nearest) [nearest, best] = [far, { each, point }];
    }
    if (!best) return;
    this.reading = best.point;
    this.readout.replaceChildren();
    if (this.spec.axis === "y") this.readLine(best.each); else this.readColumn(best.point[0]);
    this.readout.hidden = false;
    const at = this.x(best.point[0]);
    const left = at + this.readout.offsetWidth + 20 > this.frame.width ? at - this.readout.offsetWidth - 12 : at + 12;
    this.readout.style.left = `${Math.max(0, left)}px`;
    this.readout.style.top = `${this.root.getBoundingClientRect().top - this.host.getBoundingClientRect().top + MARGIN.top}px`;
  }

  readColumn(x) {
    this.crosshair.setAttribute("x1", this.x(x));
    this.crosshair.setAttribute("x2", this.x(x));
    this.crosshair.setAttribute("visibility", "visible");
    element("b", {}, this.readout, `${this.spec.x.label} ${shown(x)}`);
    for (const each of this.visible) {
      const point = each.points.find((one) => one[0] === x);
      const range = each.quiet ? null : each.band?.find((one) => one[0] === x);
      if (point) this.readLineOf(each, `${each.name} ${shown(point[1])}${range ? ` (${shown(range[1])} to ${shown(range[2])})` : ""}`);
    }
  }

  readLine(line) {
    element("b", {}, this.readout, line.name);
    const names = new Map(this.spec.x.ticks);
    for (const [x, y] of line.points) this.readLineOf(line, `${names.get(x)} ${shown(y)}`);
    for (const group of this.root.querySelectorAll("g[data-name]")) {
      group.classList.toggle("dimmed", group.dataset.name !== line.name);
    }
  }

  readLineOf(each, text) {
    const row = element("div", {}, this.readout);
    element("i", {}, row).style.background = `var(--${each.colour})`;
    row.append(text);
  }

  hideReadout() {
    this.readout.hidden = true;
    this.reading = null;
    this.crosshair?.setAttribute("visibility", "hidden");
    for (const group of this.root.querySelectorAll(".dimmed")) group.classList.remove("dimmed");
  }

  // The numbers that are drawn, every so many rows, as a table.
  table() {
    const { spec } = this;
    const xs = [...new Set(spec.series.flatMap((each) => each.points.map((point) => point[0])))].sort((a, b) => a - b);
    const every = Math.ceil(xs.length / 60) || 1, names = new Map(spec.x.ticks ?? []);
    const rows = xs.filter((_, k) => k % every === 0 || k === xs.length - 1).map((x) => [
      names.get(x) ?? shown(x), ...spec.series.map((each) => shown(each.points.find((point) => point[0] === x)?.[1])),
    ]);
    return tableOf([spec.x.label, ...spec.series.map((each) => each.name)], rows);
  }
}

function tableOf(header, rows) {
  const box = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Numbers" });
  const table = element("table", {}, box);
  const head = element("tr", {}, element("thead", {}, table));
  header.forEach((name) => element("th", { scope: "col" }, head, name));
  const body = element("tbody", {}, table);
  for (const row of rows) {
    const line = element("tr", {}, body);
    row.forEach((cell, k) => element(k ? "td" : "th", k ? {} : { scope: "row" }, line, cell));
  }
  return box;
}
