import pickle

import networkx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pgso import Graph, PGSOClassifier, PGSOFeatures, dense_pgso
from pgso.errors import InputError
from tests.strategies import edge_lists, parameters

CLUB = networkx.karate_club_graph()
X = np.random.default_rng(0).normal(size=(34, 3))


@given(edge_lists(), parameters())
def test_it_stacks_powers_of_the_operator(edges, S):
    gamma = dense_pgso(edges.adjacency, S).numpy()
    x = np.random.default_rng(0).normal(size=(edges.num_nodes, 2))
    expected = np.concatenate([x, gamma @ x, gamma @ gamma @ x], axis=1)
    out = PGSOFeatures(S, hops=2).fit_transform(edges.graph, x)
    np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


def test_one_operator_per_hop_acts_in_order():
    A = Graph.from_networkx(CLUB)
    several = PGSOFeatures([(0, 1, 0, 0, 0, 0, 0), (0, 0, 3, 0, 0, 0, 0)]).fit_transform(A, X)
    first = PGSOFeatures("adjacency", hops=1).fit_transform(A, X)
    np.testing.assert_allclose(several[:, :6], first)
    np.testing.assert_allclose(several[:, 6:], 3 * first[:, 3:], rtol=1e-6)


@pytest.mark.parametrize(("operator", "hops"), [("pgso", 3), ("mpgso", 2)])
def test_a_classifiers_operator_can_be_used(operator, hops):
    y = [CLUB.nodes[member]["club"] for member in CLUB]
    model = PGSOClassifier(operator=operator, epochs=3).fit(CLUB, None, y)
    out = PGSOFeatures(model.operator_, hops=hops).fit_transform(CLUB, X)
    assert out.shape == (34, 3 * (hops + 1))


def test_sparse_features_and_other_graphs_are_taken():
    features = PGSOFeatures().fit(CLUB, X)
    np.testing.assert_allclose(
        features.transform(CLUB, scipy.sparse.csr_array(X)), features.transform()
    )
    ring = networkx.cycle_graph(5)
    assert features.transform(ring, np.ones((5, 3))).shape == (5, 9)
    assert not np.allclose(features.transform(X=2 * X), features.transform())


def test_it_follows_scikit_learns_conventions():
    features = PGSOFeatures("laplacian", hops=3)
    assert clone(features).get_params() == {"operator": "laplacian", "hops": 3}
    with pytest.raises(NotFittedError):
        features.transform(CLUB, X)
    fitted = features.fit(CLUB, X)
    assert fitted is features
    assert fitted.n_features_in_ == 3
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(CLUB, X), fitted.transform())


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"operator": "gnc"}, "no preset is called 'gnc'"),
        ({"operator": (1, 2)}, "S takes seven numbers"),
        ({"hops": 0}, "hops must be a whole number from 1 on, got 0"),
        ({"operator": [(0, 1, 0, 0, 0, 0, 0)] * 2, "hops": 3}, "3 hops need one S, or one each"),
    ],
)
def test_wrong_options_are_answered_by_one_sentence(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        PGSOFeatures(**wrong).fit(CLUB, X)


def test_features_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="X has 2 columns, fit saw 3"):
        PGSOFeatures().fit(CLUB, X).transform(CLUB, X[:, :2])
    with pytest.raises(InputError, match="34 nodes, but there are 10 rows"):
        PGSOFeatures().fit(CLUB, X[:10])
    with pytest.raises(InputError, match="another graph needs its own X"):
        PGSOFeatures().fit(CLUB, X[:, :1]).transform(np.array([[0, 1], [1, 0]]))
