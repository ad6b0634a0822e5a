"""Where ARPACK fails: repeated with another start, or refused in one sentence."""

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import ArpackError

from pgso.spectrum import NotConvergedError, eigen

PATH = csr_array(diags_array([0.5, 0.5], offsets=[-1, 1], shape=(60, 60)) + 2 * np.eye(60))


def test_what_arpack_cannot_do_at_first_is_tried_again(monkeypatch):
    calls = []

    def fails_once(*args, **options):
        calls.append(options["ncv"])
        if len(calls) == 1:
            raise ArpackError(3)
        return eigsh(*args, **options)

    eigsh = eigen.eigsh
    monkeypatch.setattr(eigen, "eigsh", fails_once)
    values, _ = eigen.extreme_pairs(PATH, 2, "both", 1e-8, 1000)
    true = np.linalg.eigvalsh(PATH.toarray())
    np.testing.assert_allclose(values, true[[0, -1]], atol=1e-10)
    assert calls[1] > calls[0]


def test_what_arpack_can_never_do_is_refused_in_one_sentence(monkeypatch):
    def fails(*args, **options):
        raise ArpackError(-9999)

    monkeypatch.setattr(eigen, "eigsh", fails)
    with pytest.raises(NotConvergedError, match="ARPACK gave up on 2 eigenvalues"):
        eigen.extreme_pairs(PATH, 2, "largest", 1e-8, 1000)


def test_pairs_that_are_no_eigenpairs_or_twice_the_same_one_are_refused():
    true, w = np.linalg.eigh(PATH.toarray())
    eigen.check_pairs(PATH, true[:2], w[:, :2], 1e-8)
    for values, vectors in ((true[:2] + 0.1, w[:, :2]), (true[[0, 0]], w[:, [0, 0]])):
        with pytest.raises(NotConvergedError, match="do not fit the operator"):
            eigen.check_pairs(PATH, values, vectors, 1e-8)


@pytest.mark.parametrize("lie", [-0.1, 0.1])
def test_values_that_never_fit_do_not_hang(monkeypatch, lie):
    eigsh = eigen.eigsh

    def lies(*args, **options):
        values, vectors = eigsh(*args, **options)
        return values + lie, vectors

    monkeypatch.setattr(eigen, "eigsh", lies)
    with pytest.raises(NotConvergedError, match="do not settle"):
        eigen.extreme_pairs(PATH, 2, "largest", 1e-8, 1000)
