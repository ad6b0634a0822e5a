"""scikit-learn's own checks of what does not depend on ``fit(X, y)``: we take a graph, too."""

import pytest
from sklearn.utils import estimator_checks

import pgso

CHECKS = (
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_no_attributes_set_in_init",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_mixin_order",
)
ESTIMATORS = [pgso.PGSOClassifier(), pgso.PGSOClassifier(head="closed_form"), pgso.PGSORegressor()]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_scikit_learns_checks_pass(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)
