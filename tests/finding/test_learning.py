"""S learned by the gradient of the leave-one-out loss."""

import torch

from pgso.finding import learning
from pgso.finding.blocks import Blocks, Letter, Word
from pgso.finding.ridge import fit
from tests.finding.problems import generated

TRUE = Letter("true", (0.0, 1.0, 0.0, 0.0, 0.3, -0.9, 0.2))


def loss_of(problem, words):
    blocks = Blocks.of(problem)
    return fit([blocks.block(word) for word in words], problem.Y)


def test_it_lowers_the_error_of_labels_it_has_not_seen():
    problem = generated((TRUE,), labels=250)
    words = (Word((Letter.of("gcn"),)),)
    start = loss_of(problem, words)
    rows = torch.arange(125)
    S = learning.learn(problem, words, start, rows)
    learned = loss_of(problem, learning.with_S(words, S))
    errors = [(actual.loo - problem.Y)[125:].square().mean() for actual in (start, learned)]
    assert errors[1] < 0.95 * errors[0]
    assert S[0][4] > -0.5  # on its way to 0.3


def test_the_kernel_of_rows_is_the_kernel_of_features():
    problem = generated((TRUE,))
    propagation = Blocks.of(problem).propagation
    S, word = torch.tensor([TRUE.S]), Word((TRUE, TRUE))
    few, many = torch.arange(6), torch.arange(40)  # fewer than the eight columns, and more
    for rows in (few, many):
        features = learning.features_to_propagate(problem, rows)
        (kernel,) = learning.kernels_of(problem, propagation, [word], S, rows, features)
        gamma = propagation.operator(TRUE)
        values = gamma.times(gamma.times(problem.x))
        features = values[problem.train[rows]]
        features = features - features.mean(dim=0)
        wanted = features @ features.t()
        torch.testing.assert_close(kernel, wanted * len(rows) / wanted.trace())


def test_every_hop_may_have_an_S_of_its_own():
    far = Letter("far", (0.0, 1.0, 0.0, 0.0, -0.9, 0.4, 1.0))
    problem = generated((far, TRUE), labels=300)
    words = (Word((Letter.of("gcn"),) * 2),)
    start, rows = loss_of(problem, words), torch.arange(150)
    S = learning.learn(problem, words, start, rows, per_hop=True)
    assert len(S) == 2
    assert S[0] != S[1]
    learned = loss_of(problem, learning.with_S(words, S))
    errors = [(actual.loo - problem.Y)[150:].square().mean() for actual in (start, learned)]
    assert errors[1] < 0.95 * errors[0]


def test_the_last_letter_of_a_word_is_the_first_hop():
    one, two = (1.0,) * 7, (2.0,) * 7
    gcn = Letter.of("gcn")
    (x, once, twice) = learning.with_S((Word(), Word((gcn,)), Word((gcn, gcn))), (one, two))
    assert [letter.S for letter in x.letters] == []
    assert [letter.S for letter in once.letters] == [one]
    assert [letter.S for letter in twice.letters] == [two, one]
