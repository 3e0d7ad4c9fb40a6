"""The kernels of quantized tensors for the operators of ``aten``: a rule for each, under the Quantized key of a device.

They stand below autograd: no quantized tensor requires grad. A rule takes the operator and all its arguments in the order
of the schema, and returns tensors. An operator without a rule is one that torch refuses; the fallback computes it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import dispatch_core as dc
from dispatch_core import frontends
from dispatch_core.keys import DispatchKey

from ..history.grad_mode import no_grad
from . import arithmetic, movements, writing
from .fallback import compute_dequantized
from .operators import find_kernel
from .tensor import QUANTIZED_LAYOUT

Rule = Callable[..., Any]
#: Rule → the overloads that it serves, all of a name where no overload is named.
_RULES: Final[dict[Rule, str]] = {
    movements.move: (
        "alias detach select slice narrow unsqueeze squeeze unbind split split_with_sizes unsafe_split"
        " unsafe_split_with_sizes chunk unsafe_chunk tensor_split hsplit vsplit dsplit view _unsafe_view view_as reshape"
        " reshape_as flatten unflatten ravel narrow_copy atleast_1d atleast_2d atleast_3d"
    ),
    movements.keep: ("clone contiguous empty_like positive resolve_conj resolve_neg conj"),
    movements.move_whole: (
        "transpose t permute movedim moveaxis swapaxes swapdims numpy_T mT matrix_H adjoint mH expand expand_as"
        " broadcast_to as_strided diagonal unfold flip fliplr flipud rot90 repeat tile repeat_interleave index_select index"
        " pixel_shuffle pixel_unshuffle channel_shuffle embedding reflection_pad1d reflection_pad2d max.default max.dim"
        " min.default min.dim sort argsort topk"
    ),
    movements.rearrange: "transpose_ swapaxes_ swapdims_ t_ unsqueeze_",
    movements.squeeze_in_place: "squeeze_",
    arithmetic.limit: "relu relu_ relu6 relu6_ hardtanh.default hardtanh_ clamp.default clip.default",
    arithmetic.apply: ("leaky_relu leaky_relu_ sigmoid.default tanh.default hardsigmoid threshold.default"),
    arithmetic.calculate: "grid_sampler_2d grid_sampler",
    arithmetic.calculate_singly: "gelu.default gelu_",
    arithmetic.deviate: "std.default std.dim std.correction",
    arithmetic.take_mean: "mean",
    arithmetic.compare: "eq ne lt le gt ge not_equal greater greater_equal less less_equal",
    arithmetic.choose: (
        "max_pool1d max_pool2d max_pool3d upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d"
        " _upsample_nearest_exact2d _upsample_nearest_exact3d"
    ),
    arithmetic.average: (
        "avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d"
        " _adaptive_avg_pool3d"
    ),
    arithmetic.interpolate: "upsample_bilinear2d",
    arithmetic.join: " ".join(
        f"{name}.default" for name in "cat concat concatenate stack hstack vstack dstack".split()
    ),
    arithmetic.write_number: "masked_fill masked_fill_ constant_pad_nd",
    arithmetic.put: "index_put index_put_",
    writing.copy: "copy_",
    writing.fill: "fill_",
    writing.convert: "_to_copy to type_as",
    writing.read_number: "_local_scalar_dense item",
    writing.have_same_numbers: "equal",
}
RULES: Final = {name: rule for rule, names in _RULES.items() for name in names.split()}


def find_rule(name: str) -> Rule | None:
    """Return the rule for an overload, None where the fallback computes it.

    >>> find_rule("transpose.int").__name__, find_rule("add.Tensor")
    ('move_whole', None)
    """
    base, _, overload = name.partition(".")
    return RULES.get(f"{base}.{overload or 'default'}") or RULES.get(base)


def _compute(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Compute an operator of any namespace without a rule; see `fallback`."""
    parameters = frontends.call_signature(op).parameters
    with no_grad():
        return compute_dequantized(op, *args, *(kwargs[each.name] for each in parameters[len(args) :]))


class _QuantizedRules(dc.KernelFactory):
    #: A result that the schema calls a view has integers that are one.
    answers_for_results = True


def _make_factory(name: str) -> dc.KernelFactory | None:
    rule = find_rule(name)
    if rule is None:
        return None

    def make(op: Any, keyset: Any) -> Any:
        run = partial(rule, op)

        def kernel(*values: Any) -> Any:
            with no_grad():
                return run(*values)

        return kernel

    return _QuantizedRules(make, in_order=True)


@QUANTIZED_LAYOUT.for_each_key
def register(key: DispatchKey) -> None:
    """Register the kernels under the Quantized key of a device."""
    # Below the program's registrations, whether made before or after it uses quantized tensors.
    with dc.registry.transaction(level="backend"):
        library = dc.Library("aten", "IMPL", key.name)
        library.impl_lazily(_make_factory)
        own = dc.Library("quantized", "IMPL", key.name)
        own.impl_lazily(find_kernel)
        own.impl("_dequantize", find_kernel("_dequantize"))
        others = dc.Library("_", "IMPL")
        others.fallback(_compute, key.name)
        _libraries.extend([library, own, others])


_libraries: Final[list[dc.Library]] = []
with dc.registry.transaction(level="backend"):
    _own: Final = dc.Library("quantized", "FRAGMENT")
    #: What a function transform's tensor is dequantized by; torch has no operator of this name.
    _own.define("_dequantize(Tensor self) -> Tensor")
