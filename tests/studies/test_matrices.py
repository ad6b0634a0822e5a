"""Copies of the formula, in numpy and in the page, against the formula itself."""

import json
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest
import torch

from pgso import Graph, dense_pgso
from pgso.spectrum import gershgorin_interval
from pgso_studies.operators import gershgorin, pgso_matrix

A = np.array([[0.0, 1.0, 0.0, 0.0], [1.0, 2.0, 0.5, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0] * 4])
CASES = [
    (0, 1, 0, 0, -0.5, -0.5, 1),
    (0.3, -1.2, 0.4, 0.5, -0.7, 0.2, -0.8),
    (1, -1, 0, 1, 0, 0, 0),
]


@pytest.mark.parametrize("S", CASES)
def test_numpy_has_the_same_operator_and_the_same_interval(S: tuple[float, ...]):
    np.testing.assert_allclose(
        pgso_matrix(A, S), dense_pgso(torch.tensor(A), S).numpy(), atol=1e-12
    )
    low, high = gershgorin_interval(Graph.from_dense(torch.tensor(A)), S)
    np.testing.assert_allclose(gershgorin(A, S), (float(low), float(high)), atol=1e-9)


EDGE_CASES = [
    (0, 1, 1, 0, 0, 0, 0),  # x⁰ = 1 for nodes without a degree
    (1, 1, 0, 0, 0, -1, -3),  # d + a ≤ 0 with one exponent 0
    (0, 1, 0, 0, 0.5, -0.5, -0.8),
]


@pytest.mark.parametrize("S", [*CASES, *EDGE_CASES])
def test_the_page_script_and_numpy_have_the_entries_of_the_formula(S: tuple[float, ...]):
    wanted = dense_pgso(torch.tensor(A), S).numpy()
    np.testing.assert_allclose(pgso_matrix(A, S), wanted, atol=1e-12)
    low, high = gershgorin_interval(Graph.from_dense(torch.tensor(A)), S)
    np.testing.assert_allclose(gershgorin(A, S), (float(low), float(high)), atol=1e-9)
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node to run operator.js")
    subgraph = {"adjacency": A.tolist(), "degree": A.sum(1).tolist()}
    call = f"[operatorEntries({json.dumps(S)}, {json.dumps(subgraph)}), "
    call += f"subgraphEigenvalues({json.dumps(S)}, {json.dumps(subgraph)})]"
    script = files("pgso.report").joinpath("assets/operator.js").read_text(encoding="utf-8")
    command = [node, "-e", f"{script}; console.log(JSON.stringify({call}))"]
    entries, values = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    np.testing.assert_allclose(entries, wanted, atol=1e-12)
    np.testing.assert_allclose(values, np.sort(np.linalg.eigvals(wanted).real), atol=1e-6)
