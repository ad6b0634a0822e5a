// A node of the drawn graph with its neighbours: what the operator takes from each of them.

const MOST_NEIGHBOURS = 24;
const MOST_ON_A_RING = 14;

class Neighbourhood {
  constructor({ names, edges, weights, degree, values, S }) {
    Object.assign(this, { names, degree, values, S, places: new Map(names.map((name, k) => [name, k])) });
    this.rows = names.map(() => new Map());  // of each node: the weight from each source
    const entries = weights.length ? weights : edges.flatMap(([i, j]) => [[i, j, 1], [j, i, 1]]);
    for (const [target, source, weight] of entries) this.rows[target].set(source, weight);
    find("node-operator").replaceChildren(...Object.keys(S).map((name) => new Option(name, name)));
    find("node-operator").parentElement.hidden = Object.keys(S).length < 2;
    find("node-names").replaceChildren(...names.map((name) => new Option(name, name)));
    find("node-operator").addEventListener("change", () => this.show());
    find("node-name").addEventListener("change", () => this.show());
    for (const picture of document.querySelectorAll("svg.graph")) {
      picture.addEventListener("click", (event) => this.choose(event.target.closest("circle[data-k]")));
    }
    const most = this.rows.map((row) => row.size), first = most.indexOf(Math.max(...most));
    find("node-name").value = names[first];
    this.show();
  }

  choose(circle) {
    if (!circle) return;
    find("node-name").value = this.names[circle.dataset.k];
    this.show();
  }

  // The entries γ[k, j] on the node k and its neighbours j.
  entriesOf(k) {
    const nodes = [k, ...[...this.rows[k].keys()].filter((j) => j !== k)];
    const adjacency = nodes.map((i) => nodes.map((j) => (i === k && this.rows[k].get(j)) || 0));
    const degree = nodes.map((j) => this.degree[j]), S = this.S[find("node-operator").value];
    const [own, ...others] = operatorEntries(S, { adjacency, degree })[0];
    const taken = others.map((entry, at) => ({ k: nodes[at + 1], entry }));
    return { own, taken: taken.sort((p, q) => Math.abs(q.entry) - Math.abs(p.entry)) };
  }

  show() {
    const asked = find("node-name").value.trim(), k = this.places.get(asked) ?? this.places.get(`node ${asked}`);
    find("node-unknown").hidden = k !== undefined;
    if (k === undefined) return;
    for (const circle of document.querySelectorAll("svg.graph circle[data-k]")) {
      circle.classList.toggle("chosen", Number(circle.dataset.k) === k);
    }
    const { own, taken } = this.entriesOf(k), listed = taken.slice(0, MOST_NEIGHBOURS);
    this.draw(k, listed);
    const line = (name, at, entry) => [name, shown(entry), ...Object.values(this.values).map((of) => of[at] ?? "–")];
    const rows = [line(`${this.names[k]} (itself)`, k, own), ...listed.map((one) => line(this.names[one.k], one.k, one.entry))];
    const body = find("neighbours").tBodies[0];
    body.replaceChildren(...rows.map((cells) => {
      const row = element("tr");
      cells.forEach((cell, at) => element(at ? "td" : "th", at ? {} : { scope: "row" }, row, String(cell)));
      return row;
    }));
    const left = taken.length - listed.length;
    find("neighbours-left").textContent = left ? `${left} smaller entries are left out.` : "";
  }

  draw(k, listed) {
    const host = find("neighbourhood"), largest = Math.max(...listed.map((one) => Math.abs(one.entry)), 1e-12);
    const colour = (value) => (value < 0 ? "negative" : "positive");
    host.replaceChildren();
    const dot = (x, y, radius, at) => {
      const name = this.names[at], fill = document.querySelector(`svg.graph circle[data-k="${at}"]`).getAttribute("fill");
      shape("circle", { cx: x, cy: y, r: radius, fill }, host);
      const letters = shape("text", { x, y: y + (y < 0 ? -1 : 1) * (radius + 14) + 5, "text-anchor": "middle" }, host);
      letters.textContent = name.length > 14 ? `${name.slice(0, 13)}…` : name;
    };
    const place = (at) => {  // many neighbours stand on two rings: names would overlap on one
      const angle = (2 * Math.PI * at) / listed.length - Math.PI / 2;
      const ring = listed.length > MOST_ON_A_RING && at % 2 ? 0.72 : 1;
      return [165 * ring * Math.cos(angle), 140 * ring * Math.sin(angle)];
    };
    listed.forEach(({ entry }, at) => {
      const [x, y] = place(at), width = 0.5 + (9 * Math.abs(entry)) / largest;
      shape("line", { x1: 0, y1: 0, x2: x, y2: y, "stroke-width": width, "stroke-opacity": 0.6 }, host, colour(entry));
    });
    listed.forEach(({ k: other }, at) => dot(...place(at), 7, other));
    dot(0, 0, 12, k);
  }
}
