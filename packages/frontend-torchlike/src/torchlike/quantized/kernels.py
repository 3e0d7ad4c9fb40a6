"""The kernels of quantized tensors for the operators of ``aten``: a rule for each, under the Quantized key of a device.

They stand below autograd: no quantized tensor requires grad. A rule takes the operator and all its arguments in the order
of the schema, and returns tensors. An operator without a rule is one that torch refuses; the fallback computes it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.keys import DispatchKey

from ..history.grad_mode import no_grad
from . import movements, writing
from .fallback import compute_dequantized

Rule = Callable[..., Any]
#: Rule → the overloads that it serves, all of a name where no overload is named.
_RULES: Final[dict[Rule, str]] = {
    movements.move: (
        "alias detach select slice narrow unsqueeze squeeze unbind split split_with_sizes unsafe_split"
        " unsafe_split_with_sizes chunk unsafe_chunk tensor_split hsplit vsplit dsplit view _unsafe_view view_as reshape"
        " reshape_as _reshape_alias flatten unflatten ravel narrow_copy atleast_1d atleast_2d atleast_3d"
    ),
    movements.keep: ("clone contiguous empty_like positive resolve_conj resolve_neg conj _conj lift lift_fresh"),
    movements.move_whole: (
        "transpose t permute movedim moveaxis swapaxes swapdims numpy_T mT matrix_H adjoint mH expand expand_as"
        " broadcast_to as_strided diagonal unfold flip fliplr flipud rot90 repeat tile repeat_interleave index_select index"
        " pixel_shuffle pixel_unshuffle channel_shuffle embedding reflection_pad1d reflection_pad2d max.default max.dim"
        " min.default min.dim sort argsort topk"
    ),
    movements.rearrange: "transpose_ swapaxes_ swapdims_ t_ unsqueeze_",
    movements.squeeze_in_place: "squeeze_",
    writing.copy: "copy_",
    writing.fill: "fill_",
    writing.convert: "_to_copy to type_as",
    writing.read_number: "_local_scalar_dense item",
    writing.have_same_numbers: "equal",
}
RULES: Final = {name: rule for rule, names in _RULES.items() for name in names.split()}


def find_rule(name: str) -> Rule:
    """Return the rule for an overload; the fallback where there is none.

    >>> find_rule("transpose.int").__name__, find_rule("add.Tensor").__name__
    ('move_whole', 'compute_dequantized')
    """
    base, _, overload = name.partition(".")
    return RULES.get(f"{base}.{overload or 'default'}") or RULES.get(base) or compute_dequantized


class _RuleFactory(dc.KernelFactory):
    #: A result that the schema calls a view has integers that are one.
    answers_for_results = True


def _make_factory(name: str) -> dc.KernelFactory:
    rule = find_rule(name)

    def make(op: Any, keyset: Any) -> Any:
        run = partial(rule, op)

        def kernel(*values: Any) -> Any:
            with no_grad():
                return run(*values)

        return kernel

    return _RuleFactory(make, in_order=True)


def register(key: DispatchKey) -> None:
    """Register the kernels under the Quantized key of a device."""
    # Below the program's registrations, whether made before or after it uses quantized tensors.
    with dc.registry.transaction(level="backend"):
        library = dc.Library("aten", "IMPL", key.name)
        library.impl_lazily(_make_factory)
        _libraries.append(library)


_libraries: Final[list[dc.Library]] = []
