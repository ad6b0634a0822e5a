"""Rivals that see a table: guessing, linear models, boosted trees, with neighbours as columns."""

import warnings

import numpy as np

from benchmarks.rivals.problem import Answer, Array, Problem

PENALTIES = tuple(10.0**k for k in range(-3, 4))
RATE, TREES, PATIENCE = 0.1, 300, 20  # the same for all three libraries


def guess(problem: Problem) -> Answer:
    """The share of every class among the training labels, or their mean."""
    y = problem.y[problem.train]
    if problem.is_class:
        row = np.bincount(y, minlength=problem.num_classes) / len(y)
    else:
        row = np.array([y.mean()])
    return Answer(np.tile(row, (len(problem.y), 1)), "–")


def linear(problem: Problem) -> Answer:
    """Logistic or ridge regression on the table alone."""
    from sklearn.linear_model import LogisticRegression, Ridge

    table = problem.items(problem.scaled)
    if problem.kind == "graph":
        table = standardised(table)  # sums and sizes
    x, y = table[problem.train], problem.y[problem.train]

    def fit(penalty: float) -> Array:
        if not problem.is_class:
            values: Array = Ridge(alpha=penalty).fit(x, y).predict(table)[:, None]
            return values
        model = LogisticRegression(C=1 / penalty, max_iter=300)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # 300 steps are enough to choose by
            model.fit(x, y)
        return all_classes(model.predict_proba(table), model.classes_, problem)

    return problem.best(PENALTIES, fit)


def hist_boosting(problem: Problem) -> Answer:
    """scikit-learn's boosted trees on the table alone."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    table = problem.items(problem.x)
    kind = HistGradientBoostingClassifier if problem.is_class else HistGradientBoostingRegressor
    model = kind(
        learning_rate=RATE,
        max_iter=TREES,
        early_stopping=True,
        n_iter_no_change=PATIENCE,
        random_state=problem.seed,
    )
    val = with_known_classes(problem)
    y = problem.y
    model.fit(table[problem.train], y[problem.train], X_val=table[val], y_val=y[val])
    if not problem.is_class:
        return Answer(model.predict(table)[:, None], f"{model.n_iter_}")
    out = all_classes(model.predict_proba(table), model.classes_, problem)
    return Answer(out, f"{model.n_iter_}")


def lightgbm(problem: Problem) -> Answer:
    """LightGBM on the table and the neighbours' mean, maximum and minimum of every column."""
    import lightgbm as library

    x = problem.x
    table = np.concatenate([problem.items(x), problem.items(problem.neighbours())], axis=1)
    kind = library.LGBMClassifier if problem.is_class else library.LGBMRegressor
    model = kind(
        learning_rate=RATE,
        n_estimators=TREES,
        random_state=problem.seed,
        n_jobs=1,
        deterministic=True,
        force_row_wise=True,
        verbosity=-1,
    )
    val = with_known_classes(problem)
    y = problem.y
    stop = library.early_stopping(PATIENCE, verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # arrays have no names of columns
        model.fit(
            table[problem.train],
            y[problem.train],
            eval_set=[(table[val], y[val])],
            callbacks=[stop],
        )
        chosen = f"{model.best_iteration_}"
        if not problem.is_class:
            return Answer(model.predict(table)[:, None], chosen)
        return Answer(all_classes(model.predict_proba(table), model.classes_, problem), chosen)


def catboost_graph(problem: Problem) -> Answer:
    """CatBoost, which makes the same aggregates itself from ``Pool(graph=...)``.

    All nodes are in one pool, so that test nodes are neighbours of training nodes as they are for
    the other rivals. Nodes whose labels must not be used have the weight 0 and a constant label.
    """
    import catboost as library

    table = np.ascontiguousarray(problem.x.numpy())
    train = problem.train
    val = with_known_classes(problem)
    kind = library.CatBoostClassifier if problem.is_class else library.CatBoostRegressor
    model = kind(
        learning_rate=RATE,
        iterations=TREES,
        od_type="Iter",
        od_wait=PATIENCE,
        loss_function="MultiClass" if problem.is_class else "RMSE",
        random_seed=problem.seed,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )

    def pool(part: Array) -> library.Pool:
        weight = np.zeros(len(table))
        weight[part] = 1
        fill = problem.y[train[0]]
        return library.Pool(
            table,
            label=np.where(weight > 0, problem.y, fill),
            weight=weight,
            graph=problem.edges.T.numpy(),
            group_id=np.zeros(len(table), dtype=int),
            thread_count=1,
        )

    fitted = pool(train)
    model.fit(fitted, eval_set=pool(val))
    chosen = f"{(model.best_iteration_ or 0) + 1}"
    if not problem.is_class:
        return Answer(model.predict(fitted)[:, None], chosen)
    classes = np.asarray(model.classes_).astype(int)
    return Answer(all_classes(model.predict_proba(fitted), classes, problem), chosen)


def standardised(table: Array) -> Array:
    """Columns of mean 0 and variance 1; constant ones stay 0."""
    spread = table.std(axis=0)
    result: Array = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return result


def with_known_classes(problem: Problem) -> Array:
    """Validation items whose class occurs among the training labels: libraries refuse others."""
    if not problem.is_class:
        return problem.val
    return problem.val[np.isin(problem.y[problem.val], problem.y[problem.train])]


def all_classes(out: Array, classes: Array, problem: Problem) -> Array:
    """Probabilities with a column for every class, also for one without a training label."""
    whole = np.zeros((len(out), problem.num_classes))
    whole[:, classes] = out
    return whole
