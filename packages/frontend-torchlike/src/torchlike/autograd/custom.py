"""The kernels under the Autograd keys for operators whose formula is Python code: ``dispatch_core.register_autograd``.

The formula becomes a custom autograd function (`Function`), which knows tensors alone; lists of tensors, among arguments
and results, are laid out flat for it, and put together again for the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.keys import AUTOGRAD, DispatchKey

from ..history.grad_mode import is_grad_enabled
from ..names.lazy_names import Tensor
from .function import Function
from .rules.fallback import find_tensors, run_without_formula

_BACK: Final = DispatchKey.FuncTorchDynamicLayerBackMode.value


class _FormulaCall:
    """One call's arguments, and the lengths of the lists among its results."""

    __slots__ = ("args", "kwargs", "lengths")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args, self.kwargs = args, kwargs
        #: None for a result that is not a list.
        self.lengths: list[int | None] = []


def make_kernel(op: Any, keyset: Any, formula: dc.AutogradFormula) -> Callable[..., Any]:
    """Make the kernel that runs an operator below autograd and records it where an argument requires grad."""
    if formula.backward is None:
        return partial(run_without_formula, keyset, op)
    below = (keyset.mask | keyset.marker) & ~AUTOGRAD
    redispatch = op.redispatch
    function = _make_function(op, below, formula)
    single = len(op.schema.returns) == 1
    # A level of a transform computes in the mode of its function, so that transforms around record the calls below.
    is_level = bool(keyset.mask & _BACK)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if not is_grad_enabled() or not any(tensor.requires_grad for tensor in find_tensors(args)):
            return redispatch(below, *args, **kwargs)
        call = _FormulaCall(args, kwargs)
        flat = call, *_flatten(args)
        results = (
            function._run(flat, {}, lambda ctx: function.forward(ctx, *flat)) if is_level else function.apply(*flat)
        )
        found = _group(results, call.lengths)
        return found[0] if single else tuple(found) or None

    return kernel


def _make_function(op: Any, below: int, formula: dc.AutogradFormula) -> type[Function]:
    """Make the autograd function of an operator; its first argument is the call, the others are the flat arguments."""
    redispatch, backward, setup_context = op.redispatch, formula.backward, formula.setup_context
    assert backward is not None
    single = len(op.schema.returns) == 1
    has_keywords = bool(op.schema.keyword_only)

    def forward(ctx: Any, call: _FormulaCall, *flat: Any) -> Any:
        result = redispatch(below, *call.args, **call.kwargs)
        ctx.needs_input_grad = tuple(
            [_needs_grad(item) for item in arg] if _is_tensor_list(arg) else _needs_grad(arg) for arg in call.args
        )
        if setup_context is not None:
            keywords = {"keyword_only_inputs": call.kwargs} if has_keywords else {}
            setup_context(ctx=ctx, inputs=call.args, output=result, **keywords)
        results = (result,) if single else result or ()
        call.lengths = [len(item) if isinstance(item, list | tuple) else None for item in results]
        # Not the call, which would keep the arguments; and a captured call compares its nodes' values.
        ctx.lengths = tuple(call.lengths)
        ctx.groups = tuple([len(arg) if _is_tensor_list(arg) else None for arg in call.args])
        return _flatten(results, every_list=True)

    def run_backward(ctx: Any, *grads: Any) -> Any:
        found = backward(ctx, *_group(grads, ctx.lengths))
        return (None, *_flatten_gradients(op, ctx.groups, found if isinstance(found, tuple) else (found,)))

    name = f"GeneratedBackwardFor_{op.namespace}_{op.packet.name.partition('::')[2]}_{op.overload_name}"
    members = {"forward": staticmethod(forward), "backward": staticmethod(run_backward)}
    members["_unnumbered"] = 1  # the call
    # An operator is declared to follow its schema.
    return dc.KernelTraits(is_traceable=True)(type(name, (Function,), members))


def _needs_grad(value: Any) -> bool:
    return hasattr(value, "_dispatch_mask") and bool(value.requires_grad)


def _is_tensor_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(hasattr(item, "_dispatch_mask") for item in value)


def _flatten(values: Iterable[Any], *, every_list: bool = False) -> tuple[Any, ...]:
    """Lay out lists of tensors among the values; other lists stay as they are, unless ``every_list``."""
    found: list[Any] = []
    for value in values:
        if _is_tensor_list(value) or (every_list and isinstance(value, list | tuple)):
            found += value
        else:
            found.append(value)
    return tuple(found)


def _group(values: Iterable[Any], lengths: Iterable[int | None]) -> list[Any]:
    """Put flat values together into lists of these lengths."""
    items = iter(values)
    return [next(items) if length is None else [next(items) for _ in range(length)] for length in lengths]


def _flatten_gradients(op: Any, groups: tuple[int | None, ...], grads: tuple[Any, ...]) -> list[Tensor | None]:
    """Lay out a formula's result; ``groups`` has the lengths of the arguments that are lists of tensors, None for others.

    Raises ``RuntimeError`` where it does not fit.
    """
    while len(grads) > len(groups) and grads[-1] is None:
        grads = grads[:-1]
    if len(grads) != len(groups):
        raise RuntimeError(
            f"the backward formula of {op.name} returned an incorrect number of gradients "
            f"(expected {len(groups)}, got {len(grads)})"
        )
    found: list[Tensor | None] = []
    for argument, length, grad in zip(op.schema.arguments, groups, grads, strict=False):
        if length is None:
            # A list without tensors is one argument, whose gradient is an empty list, or one of None, in torch's structure.
            is_empty = isinstance(grad, list | tuple) and all(each is None for each in grad)
            found.append(None if is_empty else grad)
            continue
        if grad is not None and (not isinstance(grad, list | tuple) or len(grad) != length):
            raise RuntimeError(
                f"the backward formula of {op.name} must return a list of {length} gradients, or None, for the list "
                f"'{argument.name}', but returned {type(grad).__name__}"
            )
        found += [None] * length if grad is None else grad
    return found
