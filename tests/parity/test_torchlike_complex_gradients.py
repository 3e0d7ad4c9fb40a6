"""Gradients of complex numbers, first and second, beside torch: each formula that takes them, and random chains of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

FUNCTIONS = {
    "abs": lambda t, x: x.abs(),
    "mul": lambda t, x: x * x,
    "mul by a number": lambda t, x: x * 2j,
    "mul by real": lambda t, x: x * t.tensor([1.0, 2.0, 3.0]),
    "div": lambda t, x: 2j / x,
    "div by a number": lambda t, x: x / (1 + 2j),
    "div in place": lambda t, x: (x * 1).div_(2j * x),
    "mul in place": lambda t, x: (x * 1).mul_(2j),
    "add": lambda t, x: x.add(x, alpha=2j),
    "sub": lambda t, x: 1j - x.sub(x, alpha=2j),
    "rsub": lambda t, x: t.rsub(x, x * x, alpha=1j),
    "neg": lambda t, x: -x,
    "pow": lambda t, x: x ** (1 + 1j),
    "pow of tensors": lambda t, x: x ** (x * 0.3),
    "pow of a number": lambda t, x: t.pow(2j, x),
    "square": lambda t, x: x**2,
    "reciprocal": lambda t, x: x.reciprocal(),
    **{
        name: lambda t, x, name=name: getattr(x * 0.3, name)()
        for name in (
            "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh"
            " sigmoid"
        ).split()
    },
    "sum": lambda t, x: x.sum(),
    "mean": lambda t, x: x.mean(),
    "prod": lambda t, x: x.prod(),
    "prod of a dimension": lambda t, x: x.prod(0, keepdim=True),
    "cumsum": lambda t, x: x.cumsum(0),
    "cumprod": lambda t, x: x.cumprod(0),
    "var": lambda t, x: x.var(),
    "std": lambda t, x: x.std(),
    **{f"norm {p}": lambda t, x, p=p: x.norm(p) for p in (1, 2, 3, float("inf"))},
    "dot": lambda t, x: x.dot(x * 1j),
    "matmul": lambda t, x: x[None] @ x[:, None],
    "mv": lambda t, x: (x[:, None] * x) @ x,
    "bmm": lambda t, x: t.bmm(x[None, :, None], x[None, None]),
    "linear": lambda t, x: t.nn.functional.linear(x, x[None]),
    "addmm": lambda t, x: t.addmm(x[None, :1], x[None], x[:, None], beta=1j, alpha=2 - 1j),
    "addcmul": lambda t, x: t.addcmul(x, x, x * 2, value=2j),
    "addcdiv": lambda t, x: t.addcdiv(x, x, x * 2, value=2j),
    "lerp": lambda t, x: x.lerp(x * 2, 0.5 + 1j),
    "where": lambda t, x: t.where(t.tensor([True, False, True]), x, x * 2j),
    "masked_fill": lambda t, x: x.masked_fill(t.tensor([True, False, True]), 2j),
    "index": lambda t, x: x[[0, 0, 1]] * x,
    "views": lambda t, x: x.view(3, 1).expand(3, 2).transpose(0, 1)[1] * x,
    "stack": lambda t, x: t.stack([x, x * 1j]),
    "to real": lambda t, x: x.abs().to(x.dtype) * x,
}


def gradients(t, function, values):
    """Return gradients by complex and by real numbers, and those of the squares of these."""
    x = t.tensor([complex(value) for value in values], dtype=t.complex128, requires_grad=True)
    r = t.tensor([1.0, 2.0, 0.5], dtype=t.float64, requires_grad=True)
    result = function(t, x * r)
    seed = t.ones_like(result) * ((1 + 2j) if result.is_complex() else 1)
    first = t.autograd.grad(result, [x, r], seed, create_graph=True)
    total = sum((grad.abs() ** 2).sum() for grad in first)
    second = t.autograd.grad(total, [x, r], allow_unused=True) if total.requires_grad else (None, None)
    return [0.0 if grad is None else np.array(grad.tolist()) for grad in (*first, *second)]


@pytest.mark.filterwarnings("ignore:Casting complex values to real discards")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_torch(name):
    for values in ([3 + 4j, 1j, 1 - 1j], [-0.5 + 0.1j, 2.0, -1.5j]):
        ours, theirs = (gradients(t, FUNCTIONS[name], values) for t in (torchlike, torch))
        for mine, expected in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, expected, rtol=1e-8, atol=1e-10)


CHAINED = [name for name in FUNCTIONS if name not in ("addmm", "bmm", "matmul", "linear", "stack")]


@pytest.mark.filterwarnings("ignore:Casting complex values to real discards")
@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(CHAINED), min_size=2, max_size=4),
    st.lists(st.complex_numbers(min_magnitude=0.2, max_magnitude=2), min_size=3, max_size=3),
    st.booleans(),
)
def test_gradients_of_chains_are_those_of_torch(names, values, in_pipeline):
    def chain(t, x):
        for name in names:
            x = x + FUNCTIONS[name](t, x * 0.5) * 0.1
        return x

    with np.errstate(all="ignore"):
        theirs = gradients(torch, chain, values)
        if in_pipeline:
            with torchlike.pipeline():
                ours = gradients(torchlike, chain, values)
        else:
            ours = gradients(torchlike, chain, values)
    for mine, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-6, atol=1e-8)


def test_the_gradient_of_abs_at_zero_is_zero():
    for t in (torch, torchlike):
        x = t.zeros(2, dtype=t.complex64, requires_grad=True)
        x.abs().sum().backward()
        assert x.grad.tolist() == [0j, 0j]


BASES, EXPONENTS = (-2.5, -1.0, 0.0, 0.5, 3.0), (-1 + 2j, 0j, 2 + 0j, 0.5 - 1j, -0.5j)


@pytest.mark.parametrize("exponent_kind", ["real tensor", "complex tensor", "real number", "complex number"])
@pytest.mark.parametrize("base_kind", ["real tensor", "complex tensor", "real number", "complex number"])
def test_powers_of_real_and_complex_numbers(base_kind, exponent_kind):
    # A negative base that is real has a logarithm where the power is complex.
    kinds = base_kind, exponent_kind
    if not any("tensor" in kind for kind in kinds):
        return
    for base in BASES:
        for exponent in EXPONENTS:
            found = []
            for library in (torch, torchlike):
                given = []
                for value, kind in zip((complex(base), exponent), kinds, strict=True):
                    number = value if "complex" in kind else value.real
                    dtype = library.complex128 if "complex" in kind else library.float64
                    given.append(
                        library.tensor(number, dtype=dtype, requires_grad=True) if "tensor" in kind else number
                    )
                power = library.pow(*given)
                weight = library.tensor(1 - 0.5j if power.is_complex() else 1.0, dtype=power.dtype)
                leaves = [each for each in given if isinstance(each, library.Tensor)]
                found.append([each.item() for each in library.autograd.grad(power, leaves, weight)])
            assert found[1] == pytest.approx(found[0], nan_ok=True), (base, exponent)
