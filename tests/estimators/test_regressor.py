"""Numbers of nodes, trained and in closed form."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.metrics import r2_score

import pgso
from pgso import PGSORegressor
from pgso.errors import InputError

TASK = pgso.load_task("diabetes")
X, TRUTH = TASK.x.numpy(), TASK.y.numpy()[:, 0]
TEST = TASK.test.numpy()
HEADS = {"closed_form": {}, "trained": {"epochs": 60, "hidden_channels": 16, "lr": 0.02}}


def known():
    y = TRUTH.copy()
    y[TEST] = np.nan
    return y


@pytest.fixture(scope="module", params=HEADS)
def fitted(request):
    model = PGSORegressor(head=request.param, **HEADS[request.param])
    return model.fit(TASK.graph, X, known())


def test_it_predicts_in_the_unit_of_the_targets(fitted):
    out = fitted.predict()
    assert out.shape == (442,)
    assert 100 < out.mean() < 200
    assert r2_score(TRUTH[TEST], out[TEST]) > 0.25
    assert is_regressor(fitted)


def test_the_score_is_r2_of_what_is_known(fitted):
    seen = np.setdiff1d(np.arange(442), TEST)
    assert fitted.score() == pytest.approx(r2_score(TRUTH[seen], fitted.predict()[seen]))
    y = np.where(np.isin(np.arange(442), TEST), TRUTH, np.nan)
    assert fitted.score(y=y) == pytest.approx(r2_score(TRUTH[TEST], fitted.predict()[TEST]))


def test_it_survives_pickling_and_cloning(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(), fitted.predict())
    assert clone(fitted).get_params() == fitted.get_params()
    assert not hasattr(clone(fitted), "record_")


@pytest.mark.parametrize("head", HEADS)
def test_several_numbers_have_a_column_each(head):
    y = np.stack([known(), 1000 - known()], axis=1)
    model = PGSORegressor(head=head, **HEADS[head]).fit(TASK.graph, X, y)
    out = model.predict()
    assert out.shape == (442, 2)
    np.testing.assert_allclose(out[:, 0], 1000 - out[:, 1], atol=60)
    assert model.score() > 0.3


Y = known()
WRONG = {
    "words": (lambda: PGSORegressor().fit(TASK.graph, X, ["a"] * 442), "y must hold numbers"),
    "inf": (lambda: PGSORegressor().fit(TASK.graph, X, Y * np.inf), "y holds inf"),
    "shape": (lambda: PGSORegressor().fit(TASK.graph, X, np.ones((442, 1, 1))), "y must have"),
    "nothing": (lambda: PGSORegressor().fit(TASK.graph, X, Y * np.nan), "known numbers"),
    "rows": (lambda: PGSORegressor().fit(TASK.graph, X[:9], Y), "X has 9 rows"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_input_is_answered_by_one_sentence(what):
    call, sentence = WRONG[what]
    with pytest.raises(InputError, match=sentence) as error:
        call()
    assert "\n" not in str(error.value)


def test_a_score_needs_one_number_per_node(fitted):
    with pytest.raises(InputError, match="one row per node"):
        fitted.score(y=[1.0, 2.0])
    with pytest.raises(InputError, match="not defined"):
        fitted.score(y=np.full(442, 3.0))


@pytest.mark.parametrize("options", [{"head": "closed_form"}, {"epochs": 20}], ids=str)
def test_a_shift_of_the_targets_shifts_the_predictions(options):
    y = known().astype(np.float64)
    plain, far = (
        PGSORegressor(random_state=0, **options).fit(TASK.graph, X, y + z).predict().astype(float)
        for z in (0.0, 1.7e9)
    )
    np.testing.assert_allclose(far - 1.7e9, plain, atol=0.05)
