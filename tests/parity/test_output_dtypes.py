"""Which dtypes an ``out=`` tensor may have, against torch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

_SQUARE = "linalg.cholesky linalg.inv linalg.det linalg.qr linalg.svdvals linalg.eigvalsh linalg.lu_factor"
_CALLS = {
    "max min median nanmedian mode cummax sort topk logcumsumexp quantile": lambda t, x: (x, 1),
    "neg std var argmax aminmax msort vdot heaviside inner diag tril": lambda t, x: (x,),
    _SQUARE: lambda t, x: (x,),
    "searchsorted": lambda t, x: (x, x),
}
_TWO = {"vdot": 0, "heaviside": 1, "inner": 1}


def _try(t: Any, name: str, arguments: Any, which: int, dtype: str) -> str | None:
    """Return the start of the message with which a call refuses an output's dtype."""
    x = t.tensor([[4.0, 1.0], [1.0, 3.0]])
    args = arguments(t, x)
    if name in _TWO:
        args = (x, x) if _TWO[name] else (x[0], x[0])
    function = t
    for part in name.split("."):
        function = getattr(function, part)
    found = function(*args)
    single = isinstance(found, t.Tensor)
    dtypes = [each.dtype for each in ([found] if single else found)]
    if which >= len(dtypes):
        return None
    dtypes[which] = getattr(t, dtype)
    outputs = tuple(t.empty(0, dtype=each) for each in dtypes)
    try:
        function(*args, out=outputs[0] if single else outputs)
    except RuntimeError as error:
        return str(error)[:12]
    return None


@pytest.mark.parametrize(
    ("name", "arguments"), [(name, arguments) for names, arguments in _CALLS.items() for name in names.split()]
)
def test_outputs_of_other_dtypes_are_refused_where_torch_refuses_them(name: str, arguments: Any):
    for which in (0, 1):
        for dtype in ("float64", "int32", "int64", "bool"):
            assert _try(torchlike, name, arguments, which, dtype) == _try(torch, name, arguments, which, dtype), dtype


@pytest.mark.parametrize("name", ["std", "var", "std_mean", "var_mean"])
@pytest.mark.parametrize("size", [(1,), (0,), (0, 3), (2, 3)])
def test_a_variance_without_freedom_warns(name: str, size: tuple[int, ...]):
    said = []
    for t in (torch, torchlike):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(t, name)(t.ones(size), 0)
        said.append([str(each.message).partition("():")[2][:80] for each in caught])
    assert said[0] == said[1]


def test_running_logarithms_of_sums_of_infinite_complex_numbers():
    inf, nan = float("inf"), float("nan")
    for row in (
        [-inf + 1j, 1j, inf, complex(inf, 2), 1],
        [2, complex(1, nan), 1],
        [complex(-inf, inf), complex(-inf, 1)],
    ):
        found, expected = (t.logcumsumexp(t.tensor(row, dtype=t.complex128), 0).tolist() for t in (torchlike, torch))
        assert list(map(str, found)) == list(map(str, expected))
