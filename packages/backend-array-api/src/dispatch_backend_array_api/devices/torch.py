"""The device ``torch``: torch's own CPU tensors; its autograd does not see them, and one that requires grad is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from typing import Any, Final

import torch

import dispatch_core as dc
from dispatch_aten.errors import OperatorError
from dispatch_aten.shapes import RULES

from ..backend import array_api_backend
from ..library import Array, ArrayLibrary

if names := [name for name, module in list(sys.modules.items()) if module is torch and name != "torch"]:
    raise dc.BackendError(
        f"the device 'torch' needs torch itself, and in this program torch is another name of {names[0]}",
        hint="run the program without `python -m torchlike run`, or choose another device",
    )

import array_api_compat.torch  # it imports torch

_NATIVE: Final = (  # torch's operators of the same names, which take no dtype
    "_linalg_eigh _linalg_eigvals _linalg_svd convolution erf fmod.Tensor geqrf"
    " index.Tensor index_put linalg_cholesky_ex linalg_eig linalg_ldl_factor_ex linalg_ldl_solve linalg_lu_factor_ex"
    " linalg_matrix_exp linalg_qr linalg_solve_triangular relu scatter_add scatter_reduce.two sigmoid sort.stable"
)
#: dtypes that NumPy lacks
_BITS: Final = {torch.bfloat16: torch.int16, torch.float8_e4m3fn: torch.uint8, torch.float8_e5m2: torch.uint8}


def _native(name: str) -> Callable[[ArrayLibrary], Callable[..., Any]]:
    return lambda library: attrgetter(name if "." in name else f"{name}.default")(torch.ops.aten)


def _transform(name: str) -> Callable[[ArrayLibrary], Callable[..., Any]]:
    """Return a Fourier transform, which torch's library refuses for arrays without elements."""

    def make(library: ArrayLibrary) -> Callable[..., Any]:
        function, rule = _native(name)(library), RULES[name]

        def kernel(self: Array, *args: Any) -> Array:
            if self.numel():
                return function(self, *args)
            found = rule(library.meta(self), *args)
            return library.full(found.shape, 0, found.dtype)

        return kernel

    return make


def _get(array: Array) -> Any:
    array = array.resolve_conj().resolve_neg().cpu()
    if array.dtype in _BITS:
        import ml_dtypes  # few programs need it

        values = array.view(_BITS[array.dtype]).numpy().view(getattr(ml_dtypes, str(array.dtype).partition(".")[2]))
    else:
        values = array.numpy()
    values.flags.writeable = False
    return values


def _put(values: Any) -> Array:
    wanted = getattr(torch, values.dtype.name)
    bits = _BITS.get(wanted)
    return torch.tensor(values) if bits is None else torch.tensor(values.view(str(bits)[6:])).view(wanted)


def _refuse_graphs(kernel: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(kernel)
    def run(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if isinstance(value, torch.Tensor) and value.requires_grad:
                why = "the argument requires grad in torch, whose autograd does not record these operators"
                raise OperatorError(why, hint="give its detach()")
        return kernel(*args, **kwargs)

    return run


backend: Final = array_api_backend(
    "torch",
    array_api_compat.torch,
    array_types=(torch.Tensor,),
    get=_get,
    put=_put,
    kernels={name: _native(name) for name in _NATIVE.split()}
    | {name: _transform(name) for name in ("_fft_c2c", "_fft_c2r", "_fft_r2c")},
    around=_refuse_graphs,
    device="cpu",
)
