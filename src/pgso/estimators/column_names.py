"""The names of X's columns, kept and compared as scikit-learn does."""

from typing import Any

import numpy as np

from pgso.data.arrays import Array
from pgso.errors import InputError


def remember_columns(estimator: Any, X: Any) -> None:
    """Keep the names of a table's columns, as scikit-learn's estimators do."""
    names = _column_names(X)
    if names is not None:
        estimator.feature_names_in_ = names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def check_columns(estimator: Any, X: Any) -> None:
    """Refuse a table whose columns are others, or in another order, than ``fit`` saw."""
    fitted_names, names = getattr(estimator, "feature_names_in_", None), _column_names(X)
    if fitted_names is not None and names is not None and list(fitted_names) != list(names):
        raise InputError(
            f"the columns of X must be those that fit saw, in their order: "
            f"{', '.join(fitted_names)}; got {', '.join(names)}"
        )


def _column_names(X: Any) -> Array | None:
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(columns, dtype=object)
