"""Operators that the host computes, because aclnn has no function for them: declared here, and counted by name.

Such an operator waits for the device, copies its arguments to the host, runs the cpu backend's kernel there, and copies
the results back. `counts` returns how often, so that a program can notice. Random numbers are not among them: they come
from the device's generator, whose numbers are drawn on the host and copied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.shapes import check_written
from dispatch_core.surroundings.logs import Log

from .aclnn.checks import to_device
from .aclnn.launch import forbid_collecting, launch
from .arrays import AclArray, from_numpy, to_numpy

_LOG: Final = Log("kernels")
_counts: Final[Counter[str]] = Counter()

_OF_MATRICES: Final = (
    "_linalg_eigh _linalg_eigvals _linalg_svd geqrf linalg_cholesky_ex linalg_eig linalg_ldl_factor_ex linalg_ldl_solve"
    " linalg_lu_factor_ex linalg_matrix_exp linalg_qr linalg_solve_triangular"
).split()
_OF_SIGNALS: Final = "_fft_c2c _fft_c2r _fft_r2c".split()

REASONS: Final = {
    **dict.fromkeys(_OF_MATRICES, "LAPACK computes it"),
    **dict.fromkeys(_OF_SIGNALS, "aclnn has no Fourier transforms"),
    "hash_tensor": "aclnn has no hash of a tensor",
    "scatter_reduce.two": "aclnnScatter adds and multiplies, and finds no least, greatest or mean element",
    "nonzero": "how many elements it finds is known on the device alone",
    "masked_scatter_": "whether the source has elements enough is known on the device alone",
    "var.correction": "aclnnVarCorrection takes integers only; where the correction is one, the device computes it",
    "std.correction": "aclnnStd takes integers only; where the correction is one, the device computes it",
    "var_mean.correction": "aclnnVarMean takes integers only; where the correction is one, the device computes it",
}
"""Every operator that the host may compute, with the reason."""


def counts() -> dict[str, int]:
    """Return how often the host has computed each operator of `REASONS` since the last `reset`."""
    return dict(_counts)


def reset() -> None:
    """Set all counts to 0."""
    _counts.clear()


def on_host(name: str, *args: Any, **kwargs: Any) -> Any:
    """Run an operator on the host with arrays of the device; a write is repeated on the device."""
    assert name in REASONS, name
    forbid_collecting()
    if name not in _counts:
        _LOG.info("%s is computed on the host: %s", name, REASONS[name])
    _counts[name] += 1
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(dc.ops.aten, packet), overload or "default")
    result = operator(*map(_to_host, args), **{key: _to_host(value) for key, value in kwargs.items()})
    if packet.endswith("_"):
        launch("aclnnInplaceCopy", args[0], from_numpy(result))
        return args[0]
    return tuple(map(_to_device, result)) if isinstance(result, (list, tuple)) else _to_device(result)


def _to_device(result: Any) -> AclArray:
    """Copy a result to the device, with the layout that the host's kernel gave it."""
    array = from_numpy(result)
    return array if result.size else array.view(result.shape, dc.strides(result), 0)


def _to_host(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_to_host(item) for item in value]
    return to_numpy(value) if isinstance(value, AclArray) else value


def _make_kernel(name: str) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        args = tuple(map(to_device, args))
        if name.endswith("_"):
            check_written(args[0].spec)
        return on_host(name, *args, **kwargs)

    return kernel


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    name: _make_kernel(name) for name in ("hash_tensor", "nonzero", "masked_scatter_", *_OF_MATRICES, *_OF_SIGNALS)
}
