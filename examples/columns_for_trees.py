"""The columns that ``find`` chose, for a tabular model such as CatBoost, LightGBM or TabICL.

Which neighbours to aggregate, and how, is what others fix by hand; here the labels choose it.
Run it: ``python examples/columns_for_trees.py``.
"""

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

import pgso

task = pgso.load_task("customers")
found = pgso.find(task)
columns = found.columns()  # one row per node, one named column per feature of a block
print(found.best.name, columns.shape, list(columns.columns[:3]))

train, test = task.train.numpy(), task.test.numpy()
y = task.y.numpy()
model = HistGradientBoostingClassifier(random_state=0, max_leaf_nodes=8, max_iter=80)
for name, table in {"features": columns.filter(regex="^x: "), "columns of find": columns}.items():
    model.fit(table.iloc[train], y[train])
    score = roc_auc_score(y[test], model.predict_proba(table.iloc[test])[:, 1])
    print(f"{name}: ROC-AUC {score:.3f}")
print(f"find's own head ({found.best.head}): ROC-AUC {found.best.test:.3f}")
