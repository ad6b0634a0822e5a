import numpy as np
import pytest
import torch

from pgso import Graph, dense_pgso
from pgso.report.matrices import gershgorin, pgso_matrix
from pgso.spectrum import gershgorin_interval

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
