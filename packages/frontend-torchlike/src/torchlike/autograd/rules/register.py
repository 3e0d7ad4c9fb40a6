"""Registration of the Autograd kernels: a generated one for every formula, and fallbacks for operators without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.derivatives import DERIVATIVES, NOT_DIFFERENTIABLE, Formula, find_refused
from dispatch_aten.operators import ATEN_BY_NAME
from dispatch_aten.variants import functional_of, is_inplace
from dispatch_core.keys import DispatchKey

from .derivative import Derivative
from .fallback import (
    make_composed_kernel,
    make_out_kernel,
    make_passing_kernel,
    make_resize_kernel,
    run_without_formula,
)
from .kernels import make_kernel

#: Nodes whose names end in another number than 0: torch counts the overloads of a name that have formulas.
_NUMBERS: Final = {
    "clamp": 1,
    "max": 1,
    "mean.dim": 1,
    "min": 1,
    "norm.ScalarOpt_dim": 1,
    "pow.Tensor_Tensor": 1,
    "prod.dim_int": 1,
    "rsub.Scalar": 1,
    "squeeze.dim": 1,
    "squeeze.dims": 2,
    "sum.dim_IntList": 1,
}
#: In-place overloads whose functional overload has another overload name.
_FUNCTIONAL: Final = {"pow_.Scalar": "pow.Tensor_Scalar"}
#: Operators that are differentiated by their parts, where a device has a kernel for the whole: the gradients of one layer of
#: a recurrent network, and quantiles.
_QUANTILES: Final = {f"{kind}{overload}" for kind in ("quantile", "nanquantile") for overload in ("", ".scalar")}
_COMPOSED: Final = frozenset({"mkldnn_rnn_layer_backward"} | _QUANTILES)
_CUT: Final = Formula({"self": "zeros_like(grad)"})


def find_formula(name: str) -> Formula | None:
    """Return the formula of an overload, an in-place one's from its functional one."""
    found = DERIVATIVES.get(name)
    if found is not None or not is_inplace(name):
        return found
    functional = _FUNCTIONAL.get(name) or functional_of(name)
    if functional in NOT_DIFFERENTIABLE:
        return _CUT
    return None if functional is None else DERIVATIVES.get(functional)


def _make_factory(name: str, formula: Formula) -> Callable[[Any, Any], Any]:
    def make(op: Any, keyset: Any) -> Any:
        if not keyset.marker:
            # Raw arrays have no history.
            return make_passing_kernel(op, keyset)
        number = _NUMBERS.get(functional_of(name) or name, 0)
        outputs = formula.differentiable_outputs
        return make_kernel(
            op,
            keyset,
            lambda: Derivative(
                op, formula.gradients, differentiable_results=outputs, refused=find_refused(name), number=number
            ),
        )

    return make


def _make_autograd_kernel(name: str) -> dc.KernelFactory | None:
    """Return the kernel of an operator, or None for one that the fallback serves."""
    formula = find_formula(name)
    make: Callable[[Any, Any], Any]
    if formula is not None:
        make = _make_factory(name, formula)
    elif name in _COMPOSED:
        make = make_composed_kernel
    elif name == "resize_":
        make = make_resize_kernel
    elif name in NOT_DIFFERENTIABLE:
        make = make_passing_kernel
    elif "out" in ATEN_BY_NAME[name].tags:
        make = make_out_kernel
    else:
        return None
    return dc.kernel_factory(make)


# Below the program's registrations, whether made before or after it imports this package.
with dc.registry.transaction(level="backend"):
    _library: Final = dc.Library("aten", "IMPL", "Autograd")
    _library.impl_lazily(_make_autograd_kernel)
    _fallbacks: Final = dc.Library("_", "IMPL")
_covered: set[str] = set()


def cover(key: DispatchKey) -> None:
    """Pass operators without a formula below an Autograd key, remembering that their gradient is lost."""
    # Under the lock: a thread that finds a key covered relies on the fallback.
    with dc.registry.lock:
        if key.name not in _covered:
            _fallbacks.fallback(run_without_formula, key, with_keyset=True)
            _covered.add(key.name)
