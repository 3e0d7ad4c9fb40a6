"""Factories with ``layout=``, beside torch: strided, coordinates, and what is no layout."""

import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

SIZED = "zeros empty ones rand randn"
CALLS = {
    **{name: lambda t, name=name, **given: getattr(t, name)(2, 3, **given) for name in SIZED.split()},
    "zeros of a size": lambda t, **given: t.zeros(size=(2, 0), **given),
    "zeros without dimensions": lambda t, **given: t.zeros((), **given),
    "integer zeros": lambda t, **given: t.zeros((2, 3), dtype=t.int64, **given),
    "zeros with gradients": lambda t, **given: t.zeros((2, 3), requires_grad=True, **given),
    "zeros of a negative size": lambda t, **given: t.zeros((2, -3), **given),
    "zeros with out": lambda t, **given: t.zeros((2, 3), out=t.empty(2, 3), **given),
    "empty with a memory format": lambda t, **given: t.empty((2, 3), memory_format=t.contiguous_format, **given),
    "empty_strided": lambda t, **given: t.empty_strided((2, 3), (3, 1), **given),
    "full": lambda t, **given: t.full((2, 3), 1.5, **given),
    "randint": lambda t, **given: t.randint(5, (2, 3), **given),
    "randint from": lambda t, **given: t.randint(2, 5, (2, 3), **given),
    "randperm": lambda t, **given: t.randperm(5, **given),
    "arange": lambda t, **given: t.arange(1, 5, **given),
    "linspace": lambda t, **given: t.linspace(0, 1, 5, **given),
    "eye": lambda t, **given: t.eye(3, 2, **given),
    "hann_window": lambda t, **given: t.hann_window(5, **given),
    "fftfreq": lambda t, **given: t.fft.fftfreq(5, **given),
    "zeros_like with a memory format": lambda t, **given: t.zeros_like(
        t.eye(2).to_sparse(), memory_format=t.preserve_format, **given
    ),
    "zeros_like with gradients": lambda t, **given: t.zeros_like(t.eye(2).to_sparse(), requires_grad=True, **given),
    "zeros_like of another dtype": lambda t, **given: t.zeros_like(t.eye(2).to_sparse(), dtype=t.int64, **given),
    **{
        f"{name}{shown}": lambda t, name=name, make=make, **given: getattr(t, name)(make(t.ones(2, 3)), **given)
        for name in "zeros_like empty_like ones_like rand_like randn_like".split()
        for shown, make in {
            "": lambda x: x,
            " sparse": lambda x: x.to_sparse(),
            " hybrid": lambda x: x.to_sparse(1),
        }.items()
    },
    **{
        f"{name}{shown}": lambda t, name=name, more=more, make=make, **given: getattr(make(t.ones(2, 3)), name)(
            (4, 2), *more, **given
        )
        for name, *more in [("new_empty",), ("new_zeros",), ("new_ones",), ("new_full", 2.0)]
        for shown, make in {"": lambda x: x, " sparse": lambda x: x.to_sparse()}.items()
    },
}
LAYOUTS = {
    "none": lambda t: {},
    "None": lambda t: {"layout": None},
    "strided": lambda t: {"layout": t.strided},
    "coordinates": lambda t: {"layout": t.sparse_coo},
    "text": lambda t: {"layout": "strided"},
    "number": lambda t: {"layout": 1},
    "dtype": lambda t: {"layout": t.float32},
}


def describe(t, call, layout):
    """Return all but the values of a result, or the kind of its error."""
    try:
        made = call(t, **LAYOUTS[layout](t))
    except TypeError:
        return "no layout"
    except (RuntimeError, ValueError):
        return "refused"
    is_sparse = made.layout is t.sparse_coo
    parts = (made._nnz(), made.sparse_dim(), made.dense_dim(), made.is_coalesced()) if is_sparse else ()
    return (
        str(made.layout).rpartition(".")[2],
        tuple(made.shape),
        str(made.dtype).rpartition(".")[2],
        parts,
        made.requires_grad,
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_factories_are_torchs(layout):
    for name, call in CALLS.items():
        assert (name, describe(torchlike, call, layout)) == (name, describe(torch, call, layout))
