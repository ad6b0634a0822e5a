"""Estimators with a closed-form head: no training, the same conventions."""

import pickle

import networkx
import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import pgso
from pgso import PGSOClassifier
from pgso.errors import InputError, UnknownNameError

CLUB = networkx.karate_club_graph()
LABELS = np.array([CLUB.nodes[member]["club"] for member in CLUB], dtype=object)
KNOWN = [0, 1, 2, 3, 8, 13, 29, 30, 31, 32, 33]


@pytest.fixture(scope="module")
def y():
    y = np.full(34, None, dtype=object)
    y[KNOWN] = LABELS[KNOWN]
    return y


@pytest.fixture(scope="module")
def fitted(y):
    return PGSOClassifier(head="closed_form").fit(CLUB, None, y)


def test_it_predicts_what_find_predicts(fitted, y):
    finding = pgso.find(CLUB, np.eye(34), y)
    assert fitted.record_.best == finding.best.name
    np.testing.assert_allclose(fitted.predict_proba(), finding.predict().numpy(), atol=1e-5)
    np.testing.assert_allclose(fitted.predict_proba().sum(axis=1), 1, rtol=1e-5)
    assert fitted.score(y=LABELS) > 0.85
    expected = () if finding.best.S is None else (pgso.PGSOParameters(*finding.best.S),)
    assert fitted.operator_ == expected


def test_it_predicts_on_another_graph():
    here, there = (pgso.load_task("minesweeper", rows=20, cols=20, seed=seed) for seed in (0, 1))
    model = PGSOClassifier(head="closed_form").fit(here.graph, here.x.numpy(), here.y.numpy())
    out = model.predict_proba(there.graph, there.x.numpy())
    sparse = model.predict_proba(there.graph, scipy.sparse.csr_array(there.x.numpy()))
    np.testing.assert_allclose(out, sparse, atol=1e-5)
    assert 0.5 < model.score(there.graph, there.x.numpy(), there.y.numpy()) <= 1


def test_it_follows_scikit_learns_conventions(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(), fitted.predict_proba())
    unfitted = clone(fitted)
    assert unfitted.get_params()["head"] == "closed_form"
    with pytest.raises(NotFittedError):
        unfitted.predict()


def test_what_does_not_fit_is_refused(fitted, y):
    with pytest.raises(UnknownNameError, match="no head is called 'closed'"):
        PGSOClassifier(head="closed").fit(CLUB, None, y)
    with pytest.raises(InputError, match="X has 3 columns, the model takes 34"):
        fitted.predict(X=np.ones((34, 3)))
