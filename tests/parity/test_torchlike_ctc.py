"""The loss of sequences beside torch's: values, gradients and refusals."""

import itertools

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

TARGETS = {
    "rows": ([[1, 2, 2], [3, 1, 0], [4, 4, 4]], [7, 6, 7], [3, 2, 3]),
    "one after the other": ([1, 2, 2, 3, 1, 4], [7, 2, 3], [3, 2, 1]),
    "no way": ([[1, 2], [3, 1], [1, 1]], [0, 3, 2], [0, 2, 2]),
    "no labels": (np.zeros((3, 0), np.int64), [7, 5, 1], [0, 0, 0]),
}


@pytest.mark.parametrize(
    ("case", "reduction", "zero_infinity"), list(itertools.product(TARGETS, ("none", "mean", "sum"), (False, True)))
)
def test_ctc_loss_and_its_gradient_agree(case, reduction, zero_infinity):
    targets, steps, lengths = TARGETS[case]
    targets = np.asarray(targets)
    scores = np.random.default_rng(0).standard_normal((7, 3, 5))
    found = []
    for t in (torch, torchlike):
        loss = t.nn.CTCLoss(reduction=reduction, zero_infinity=zero_infinity)
        given = t.from_numpy(scores).requires_grad_()
        value = loss(given.log_softmax(2), t.from_numpy(targets), steps, lengths)
        value.sum().backward()
        found.append((value.detach().numpy(), given.grad.numpy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-7, atol=1e-12)


REFUSED = {
    "steps": ([[1, 2]], [6], [2], {}),
    "labels": ([[1, 2]], [5], [3], {}),
    "batch": ([[1, 2]], [5, 5], [2], {}),
    "flat": ([1, 2, 3], [5], [2], {}),
    "blank": ([[1, 2]], [5], [2], {"blank": 7}),
    "negative": ([[1, 2]], [-1], [2], {}),
    "reduction": ([[1, 2]], [5], [2], {"reduction": "x"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_agree(case):
    targets, steps, lengths, options = REFUSED[case]

    def run(t):
        return t.nn.functional.ctc_loss(t.zeros(5, 1, 4), t.tensor(targets), steps, lengths, **options)

    with pytest.raises(Exception) as wanted:  # the oracle's error is compared
        run(torch)
    with pytest.raises(type(wanted.value)) as found:
        run(torchlike)
    assert str(wanted.value)[:40] in str(found.value)
