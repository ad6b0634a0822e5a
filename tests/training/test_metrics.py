import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, roc_auc_score

from pgso.training.metrics import roc_auc, score, score_parts

EXAMPLES = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=30)


@given(EXAMPLES)
def test_the_area_is_scikit_learns_with_ties(examples):
    scores, positive = (list(column) for column in zip(*examples, strict=True))
    ours = roc_auc(torch.tensor(scores) / 4, torch.tensor(positive))
    if len(set(positive)) < 2:
        assert ours is None
    else:
        assert ours == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 1)), min_size=1))
def test_scores_of_class_logits_are_scikit_learns(rows):
    logits = torch.tensor([row[:2] for row in rows], dtype=torch.float32)
    y = torch.tensor([row[2] for row in rows])
    right = accuracy_score(y, logits.argmax(dim=1))
    assert score("accuracy", logits, y) == pytest.approx(right, abs=1e-12)
    if y.unique().numel() == 2:
        area = roc_auc_score(y, logits.double().diff(dim=1).flatten())
        assert score("roc_auc", logits, y) == pytest.approx(area, abs=1e-12)


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
def test_no_examples_have_no_score(metric):
    assert score(metric, torch.zeros(0, 2), torch.zeros(0, dtype=torch.long)) is None


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
def test_parts_are_scored_as_each_alone(metric):
    rng = torch.Generator().manual_seed(0)
    logits, y = torch.randn(30, 2, generator=rng), torch.randint(2, (30,), generator=rng)
    sizes = [12, 18, 0]
    expected = [score(metric, logits[:12], y[:12]), score(metric, logits[12:], y[12:]), None]
    assert score_parts(metric, logits, y, sizes) == expected
