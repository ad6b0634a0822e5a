// The operator in the browser: its entries on a few nodes, and their eigenvalues.

// (d + a)^e; where d + a is not positive 0, or 1 if e is exactly 0: the library's convention.
function positivePower(degree, exponent) {
  return degree.map((d) => (d > 0 ? d ** exponent : Number(exponent === 0)));
}

// γ_ij = δ_ij (m1 d_i^e1 + m3) + m2 d_i^e2 (A_ij + a δ_ij) d_j^e3, d = degree + a.
function operatorEntries(S, subgraph) {
  const [, , , , e2, e3, a] = S, d = subgraph.degree.map((each) => each + a);
  return entriesBetween(S, subgraph, positivePower(d, e2), positivePower(d, e3));
}

function entriesBetween([m1, m2, m3, e1, , , a], { adjacency, degree }, rows, columns) {
  const own = positivePower(degree.map((each) => each + a), e1);
  return adjacency.map((line, i) => line.map((weight, j) => {
    const diagonal = i === j ? 1 : 0;
    return diagonal * (m1 * own[i] + m3) + m2 * rows[i] * (weight + a * diagonal) * columns[j];
  }));
}

// Theorem 1: with the root of both factors on either side the matrix is symmetric, with the same
// eigenvalues.
function subgraphEigenvalues(S, subgraph) {
  const { adjacency } = subgraph;
  if (adjacency.some((line, i) => line.some((weight, j) => weight !== adjacency[j][i]))) return [];
  const [, , , , e2, e3, a] = S, d = subgraph.degree.map((each) => each + a);
  const rows = positivePower(d, e2), columns = positivePower(d, e3);
  const half = rows.map((value, i) => Math.sqrt(value * columns[i]));
  return symmetricEigenvalues(entriesBetween(S, subgraph, half, half));
}

// Jacobi's rotations, in place.
function symmetricEigenvalues(M) {
  const n = M.length;
  for (let sweep = 0; sweep < 30; sweep++) {
    let off = 0, all = 0;
    M.forEach((line, i) => line.forEach((value, j) => {
      all += value * value;
      if (i !== j) off += value * value;
    }));
    if (off <= 1e-16 * all) break;
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) rotate(M, p, q);
  }
  return M.map((line, i) => line[i]).sort((a, b) => a - b);
}

function rotate(M, p, q) {
  if (M[p][q] === 0) return;
  const theta = (M[q][q] - M[p][p]) / (2 * M[p][q]);
  const t = (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.hypot(theta, 1));
  const c = 1 / Math.hypot(t, 1), s = t * c;
  for (let k = 0; k < M.length; k++) {
    const kp = M[k][p], kq = M[k][q];
    M[k][p] = c * kp - s * kq;
    M[k][q] = s * kp + c * kq;
  }
  for (let k = 0; k < M.length; k++) {
    const pk = M[p][k], qk = M[q][k];
    M[p][k] = c * pk - s * qk;
    M[q][k] = s * pk + c * qk;
  }
}

function resolvedColour(name) {
  const probe = element("span", {}, document.body);
  probe.style.color = `var(${name})`;
  const numbers = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  probe.remove();
  return numbers;
}

function drawHeat(canvas, matrix, largest) {
  const n = matrix.length;
  canvas.width = canvas.height = n;
  const context = canvas.getContext("2d"), image = context.createImageData(n, n);
  const zero = resolvedColour("--surface"), low = resolvedColour("--negative"), high = resolvedColour("--positive");
  matrix.flat().forEach((value, k) => {
    const weight = Math.min(1, Math.abs(value) / largest), end = value < 0 ? low : high;
    for (let c = 0; c < 3; c++) image.data[4 * k + c] = zero[c] + (end[c] - zero[c]) * weight;
    image.data[4 * k + 3] = 255;
  });
  context.putImageData(image, 0, 0);
}
