"""Random numbers of further distributions: torch's own streams, shapes and refusals."""

import numpy as np
import pytest

import dispatch_core as dc
import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")


def operators_of(m):
    """Return the place of the functions that torch keeps for its distributions."""
    return torch if m is torch else dc.ops.aten


IN_PLACE = {
    "cauchy_": lambda m, x: x.cauchy_(1, 2),
    "log_normal_": lambda m, x: x.log_normal_(0.5, 1.5),
    "geometric_": lambda m, x: x.geometric_(0.3),
}
FUNCTIONS = {
    "normal_of_means": lambda m, x: m.normal(x, 2.0),
    "normal_of_spreads": lambda m, x: m.normal(3.0, x),
    "normal_of_both": lambda m, x: m.normal(x, x),
    "poisson": lambda m, x: m.poisson(x * 15),
    "multinomial_one": lambda m, x: m.multinomial(x, 1),
    "multinomial_some": lambda m, x: m.multinomial(x, 3),
    "multinomial_again": lambda m, x: m.multinomial(x, 20, replacement=True),
}
WIDE = {
    "binomial": lambda m, x: m.binomial(m.full_like(x, 40.0), x / 3),
    "gamma": lambda m, x: operators_of(m)._standard_gamma(x),
    "dirichlet": lambda m, x: operators_of(m)._sample_dirichlet(x),
    "gamma_gradient": lambda m, x: operators_of(m)._standard_gamma_grad(x, x * 0.9 + 0.1),
    "beta_gradient": lambda m, x: operators_of(m)._dirichlet_grad(x / 4, x, x + 1.5),
}
CASES = [
    (name, call, dtype)
    for table, dtypes in (
        (IN_PLACE, ("float32", "float64", "bfloat16")),
        (FUNCTIONS, ("float32", "float64")),
        (WIDE, ("float32", "float64")),
    )
    for name, call in table.items()
    for dtype in dtypes
]


@pytest.mark.parametrize(("name", "call", "dtype"), CASES, ids=[f"{name}-{dtype}" for name, _, dtype in CASES])
@pytest.mark.parametrize("shape", [(5,), (3, 7)], ids=str)
def test_numbers_and_what_is_drawn_next(name, call, dtype, shape):
    found = []
    array = np.random.default_rng(0).random(shape) * 2.9 + 0.05
    for m in (torchlike, torch):
        m.manual_seed(7)
        made = call(m, m.tensor(array).to(getattr(m, dtype)))
        found.append([made.double().tolist(), m.rand(2).tolist(), made.stride(), str(made.dtype).rpartition(".")[2]])
    # Torch's gradients of samples are approximations.
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=2e-3 if name.endswith("gradient") else 2**-8)
    assert found[0][1:] == found[1][1:]


def test_normal_numbers_of_a_size():
    found = []
    for m in (torchlike, torch):
        m.manual_seed(1)
        made = m.normal(mean=0.5, std=2.0, size=(3, 4), requires_grad=True)
        found.append((made.tolist(), made.requires_grad, m.normal(m.zeros(2)).tolist()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    assert found[0][1:] == found[1][1:]


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.ones(3).cauchy_(0, -1),
        lambda m: m.ones(3).int().cauchy_(),
        lambda m: m.ones(3).geometric_(1.0),
        lambda m: m.ones(3, dtype=m.bool).geometric_(0.5),
        lambda m: m.ones(3).log_normal_(0, 0),
        pytest.param(
            lambda m: m.poisson(-m.ones(2)),
            marks=pytest.mark.no_pipeline(reason="the error depends on values"),
        ),
        lambda m: m.binomial(m.ones(2), m.ones(2).double()),
        lambda m: m.multinomial(m.ones(3), 5),
        lambda m: m.multinomial(m.ones(3), 0),
        lambda m: m.multinomial(-m.ones(3), 1),
        lambda m: m.multinomial(-m.ones(3), 2, True),
        lambda m: m.multinomial(m.zeros(3), 1),
        lambda m: m.normal(m.ones(2), -m.ones(2)),
        lambda m: m.normal(m.ones(2), m.ones(3)),
        lambda m: m.normal(m.ones(2).int(), 1.0),
    ],
)
def test_refusals_are_worded_as_torchs(call):
    with pytest.raises(RuntimeError) as theirs:
        call(torch)
    with pytest.raises(RuntimeError) as ours:
        call(torchlike)
    assert str(ours.value).startswith(str(theirs.value).splitlines()[0])


@pytest.mark.parametrize("size", [3, 16, 41])
@pytest.mark.parametrize("draw", ["rand", "randn"])
def test_both_parts_of_complex_numbers_are_drawn(draw, size):
    found = []
    for m in (torchlike, torch):
        m.manual_seed(4)
        made = getattr(m, draw)(size, dtype=m.complex64)
        column = m.empty(size, 3, dtype=m.complex128)[:, 1].normal_(1.0, 2.0)
        found.append(made.tolist() + column.tolist())
    np.testing.assert_allclose(*found, rtol=1e-5)
