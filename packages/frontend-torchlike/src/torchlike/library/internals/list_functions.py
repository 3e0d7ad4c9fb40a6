"""Custom autograd functions with lists of tensors (source: ``torch._library.autograd.supports_tensorlist``)."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from ...values.pytree import TreeSpec, tree_flatten, tree_unflatten

__all__ = ["supports_tensorlist"]


class _Layout:
    """How one call's arguments and results are put together of flat values."""

    __slots__ = ("inputs", "is_tuple", "outputs")

    def __init__(self, inputs: TreeSpec) -> None:
        self.inputs = inputs
        self.outputs: TreeSpec | None = None
        self.is_tuple = False


def supports_tensorlist(cls: Any) -> Any:
    """Return a custom autograd function whose arguments, results and gradients may be lists of tensors. A decorator.

    >>> import torchlike
    >>> @supports_tensorlist
    ... class Stack(torchlike.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, tensors):
    ...         return torchlike.stack(tensors)
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return [*grad.unbind()]
    >>> x = torchlike.ones(2, requires_grad=True)
    >>> Stack.apply([x, x]).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    forward, backward, apply = cls.forward, cls.backward, cls.apply

    def flat_forward(ctx: Any, *flat: Any) -> Any:
        layout = flat[-1] if flat else None
        if not isinstance(layout, _Layout):
            raise NotImplementedError(
                "NYI: calling supports_tensorlist autograd.Function.forward directly. You should probably be calling .apply "
                "instead."
            )
        found = forward(ctx, *tree_unflatten(flat[:-1], layout.inputs))
        layout.is_tuple = isinstance(found, tuple)
        results, layout.outputs = tree_flatten(found if layout.is_tuple else (found,), is_leaf=_is_no_list_of_tensors)
        ctx.list_layout = layout
        return tuple(results)

    def flat_backward(ctx: Any, *grads: Any) -> Any:
        layout = getattr(ctx, "list_layout", None)
        if layout is None:
            raise NotImplementedError(
                "NYI: calling supports_tensorlist autograd.Function.backward directly. This is called by autograd."
            )
        needs = ctx.needs_input_grad
        ctx.needs_input_grad = tree_unflatten(needs[:-1], layout.inputs)
        try:
            found = backward(ctx, *tree_unflatten(grads, layout.outputs))
        finally:
            ctx.needs_input_grad = needs
        flat, spec = tree_flatten(found if isinstance(found, tuple) else (found,), is_leaf=_is_no_list_of_optional)
        if spec != layout.inputs:
            raise RuntimeError(
                "Expected the return from backward to be of the same structure as the inputs. Got: "
                f"{spec} (return from backward), {layout.inputs} (inputs)"
            )
        return (*flat, None)

    def flat_apply(*args: Any) -> Any:
        flat, spec = tree_flatten(args, is_leaf=_is_no_list_of_tensors)
        layout = _Layout(spec)
        found = apply(*flat, layout)
        assert layout.outputs is not None
        result = tree_unflatten(found if isinstance(found, tuple) else (found,), layout.outputs)
        return result if layout.is_tuple else result[0]

    cls.forward, cls.backward, cls.apply = staticmethod(flat_forward), staticmethod(flat_backward), flat_apply
    return cls


def _is_no_list_of_tensors(tree: Any) -> bool:
    if isinstance(tree, tuple):
        return False
    return not (isinstance(tree, list) and all(isinstance(each, Tensor) for each in tree))


def _is_no_list_of_optional(tree: Any) -> bool:
    if isinstance(tree, tuple):
        return False
    return not (isinstance(tree, list) and all(each is None or isinstance(each, Tensor) for each in tree))
