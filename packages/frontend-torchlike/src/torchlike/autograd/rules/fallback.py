"""The fallback under the Autograd keys for operators without a formula, so that no gradient is lost in silence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dispatch_core as dc
from dispatch_aten.decompositions import EXPLICIT, IMPLICIT
from dispatch_aten.derivatives import NOT_DIFFERENTIABLE
from dispatch_aten.variants import functional_of
from dispatch_core.keys import AUTOGRAD

from ...history.device_keys import autograd_bit
from ...history.grad_mode import is_grad_enabled
from ...history.node import Node, next_sequence
from ...names.lazy_names import Tensor
from ..inplace import check_inplace, rebase


class NotDifferentiable(Node):
    """The history of a result whose operator has no derivative formula; reaching it in backward is an error."""

    operator: str

    def apply(self, grads: list[Tensor | None]) -> tuple[Tensor | None, ...]:
        raise NotImplementedError(
            f"derivative for {self.operator} is not implemented\n"
            "Hint: detach() its inputs if no gradient should flow, or give it a formula with dispatch_core.register_autograd"
        )

    def name(self) -> str:
        return "NotImplemented"


def find_tensors(values: Any) -> Iterator[Tensor]:
    """Yield the tensors among arguments or results, those in lists too."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from find_tensors(value)
        elif hasattr(value, "_dispatch_mask"):
            yield value


def run_without_formula(keyset: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
    """Run an operator below autograd; results that depend on a gradient remember that it is lost (the boxed fallback)."""
    below = (keyset.mask | keyset.marker) & ~AUTOGRAD
    if not is_grad_enabled():
        return op.redispatch(below, *args, **kwargs)
    sources = [tensor for tensor in find_tensors([*args, *kwargs.values()]) if tensor.requires_grad]
    if not sources:
        return op.redispatch(below, *args, **kwargs)
    edges = tuple(tensor._state.edge for tensor in sources)
    written = [
        kwargs[argument.name] if argument.kwarg_only else args[index]
        for index, argument in enumerate(op.schema.arguments)
        if argument.is_write
    ]
    for tensor in find_tensors(written):
        check_inplace(tensor)
    result = op.redispatch(below, *args, **kwargs)
    changed = {id(tensor) for tensor in find_tensors(written)}
    for tensor in find_tensors([result]):
        if not dc.dtype(tensor).is_differentiable:
            continue
        node = NotDifferentiable()
        node.operator = op.name
        node.seq = next_sequence()
        node.meta = tensor._shape_and_dtype()
        if id(tensor) in changed:
            node.next = (None, *edges)
            rebase(tensor, node)
        else:
            node.next = edges
            node.storage = tensor._state.storage
            if tensor._state.is_view:
                tensor._state.history = node
            else:
                tensor._autograd = node
            tensor._dispatch_mask |= autograd_bit(tensor._dispatch_mask)
    return result


def make_passing_kernel(op: Any, keyset: Any) -> Any:
    """Make the kernel of an operator that has no gradient by its nature: it only runs below autograd."""
    return dc.fast_redispatch(op, (keyset.mask | keyset.marker) & ~AUTOGRAD)


def make_composed_kernel(op: Any, keyset: Any) -> Any:
    """Make the kernel of an operator whose parts have gradients: they are called where one is recorded."""
    run = make_passing_kernel(op, keyset)
    if not keyset.marker:
        return run  # raw arrays have no history
    name = op.name.removeprefix("aten::")
    run_parts = (EXPLICIT if name in EXPLICIT else IMPLICIT)[name]

    def kernel(*args: Any, **kwargs: Any) -> Any:
        records = is_grad_enabled() and any(tensor.requires_grad for tensor in find_tensors(args))
        return (run_parts if records else run)(*args, **kwargs)

    return kernel


def make_resize_kernel(op: Any, keyset: Any) -> Any:
    """Make the kernel of ``resize_``, after which a gradient would not fit, in any mode."""
    run = make_passing_kernel(op, keyset)

    def kernel(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if self.requires_grad:
            raise RuntimeError("cannot resize variables that require grad")
        return run(self, *args, **kwargs)

    return kernel


def make_out_kernel(op: Any, keyset: Any) -> Any:
    """Make the kernel of an ``out=`` overload, which cannot be recorded.

    Inputs of an operator without a gradient by its nature may require grad; its outputs may not.
    """
    below = (keyset.mask | keyset.marker) & ~AUTOGRAD
    redispatch = op.redispatch
    written = {argument.name for argument in op.schema.arguments if argument.is_write}
    plain = functional_of(op.name) in NOT_DIFFERENTIABLE

    def kernel(*args: Any, **kwargs: Any) -> Any:
        looked_at = [kwargs[name] for name in written] if plain else [*args, *kwargs.values()]
        if is_grad_enabled() and any(tensor.requires_grad for tensor in find_tensors(looked_at)):
            raise RuntimeError(
                f"{op.name.rpartition('::')[2].partition('.')[0]}(): functions with out=... arguments don't support "
                "automatic differentiation, but one of the arguments requires grad."
            )
        return redispatch(below, *args, **kwargs)

    return kernel
