"""Predictions as people use them."""

import pgso
from pgso.data import load_task
from pgso.predictors.predictor import most_probable_links
from pgso.training.fit import fit_task
from pgso.training.session import take_best


def test_held_out_links_are_not_proposed_as_new_ones():
    task = load_task("karate", task="link")
    session, _ = fit_task(pgso.RunSpec(dataset="karate", task="link", epochs=2), task)
    found = dict(most_probable_links(take_best(session), task, 600, range(34)))
    new = set(zip(found["source"], found["target"], strict=True))
    links = {tuple(sorted(pair)) for pair in load_task("karate").graph.edge_index.T.tolist()}
    assert list(found) == ["source", "target", "probability"]
    assert not new & links
    assert len(new) == 34 * 33 // 2 - len(links)
