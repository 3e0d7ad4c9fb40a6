"""Hooks around the backward of a module: two nodes of the graph, around its arguments and around its result."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import dispatch_core as dc

from ..autograd.function import Function
from ..history.grad_mode import is_grad_enabled
from ..history.hooks import Hook
from ..tensors.tensor import Tensor


@dc.KernelTraits(is_traceable=True)
class BackwardHookFunction(Function):
    """Pass tensors and gradients through; its node is there for hooks."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        return args


class BackwardHook:
    """Calls a module's backward hooks in one call of it (source: ``torch.utils.hooks.BackwardHook``)."""

    def __init__(self, module: Any, user_hooks: Sequence[Hook], user_pre_hooks: Sequence[Hook]) -> None:
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.inputs: list[int] | None = None
        self.outputs: list[int] | None = None
        self.input_count = self.output_count = 0

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments, the tensors among them as results of a node that calls the hooks."""
        self.input_count = len(args)
        args, self.inputs = _pass_through(args, self._call_hooks)
        return args

    def setup_output_hook(self, result: Any) -> Any:
        """Return the result, its tensors as results of a node that keeps their gradients for the hooks."""
        results = result if isinstance(result, tuple) else (result,)
        self.output_count = len(results)
        results, self.outputs = _pass_through(results, self._keep_gradients)
        return results if isinstance(result, tuple) else results[0]

    def _call_hooks(self, grad_input: Sequence[Any], _: Any) -> tuple[Any, ...] | None:
        if self.grad_outputs is None:
            return None  # The gradient has reached the arguments past the result, as in a double backward.
        grads = _spread(self.inputs or [], grad_input, self.input_count)
        for hook in self.user_hooks:
            changed = hook(self.module, grads, self.grad_outputs)
            if changed is None:
                continue
            if len(changed) != len(grads):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(changed)}, but expected {len(grads)}"
                )
            grads = changed
        self.grad_outputs = None
        return tuple(grads[place] for place in self.inputs or [])

    def _keep_gradients(self, _: Any, grad_output: Sequence[Any]) -> tuple[Any, ...]:
        places = self.outputs or []
        found = _spread(places, grad_output, self.output_count)
        for hook in self.user_pre_hooks:
            changed = hook(self.module, found)
            if changed is None:
                continue
            changed = changed if isinstance(changed, tuple) else (changed,)
            if len(changed) != len(found):
                raise RuntimeError(
                    f"Backward pre hook returned an invalid number of grad_output, got {len(changed)}, but expected "
                    f"{len(found)}"
                )
            found = changed
        self.grad_outputs = found
        if self.inputs is None:
            self._call_without_inputs(found)
        return tuple(found[place] for place in places)

    def _call_without_inputs(self, grad_outputs: tuple[Any, ...]) -> None:
        """Call the hooks where no argument requires a gradient."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients. See "
            "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook "
            "for more details.",
            UserWarning,
            stacklevel=2,
        )
        for hook in self.user_hooks:
            changed = hook(self.module, (None,) * self.input_count, grad_outputs)
            if changed is not None and not (isinstance(changed, tuple) and all(each is None for each in changed)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for all "
                    "gradients."
                )
        self.grad_outputs = None


def _pass_through(values: tuple[Any, ...], hook: Callable[..., Any]) -> tuple[tuple[Any, ...], list[int] | None]:
    """Return the values, tensors as results of a node with a hook, and their places; None for them if none has a graph."""
    places = [place for place, value in enumerate(values) if isinstance(value, Tensor)]
    if not is_grad_enabled() or not any(values[place].requires_grad for place in places):
        return values, None
    passed = BackwardHookFunction.apply(*[values[place] for place in places])
    node = next(tensor.grad_fn for tensor in passed if tensor.requires_grad)
    node.register_hook(hook)
    found = list(values)
    for place, tensor in zip(places, passed, strict=True):
        found[place] = tensor
    # A named tuple keeps its class.
    return (tuple(found) if type(values) is tuple else type(values)(*found)), places


def _spread(places: Sequence[int], values: Sequence[Any], count: int) -> tuple[Any, ...]:
    found: list[Any] = [None] * count
    for place, value in zip(places, values, strict=True):
        found[place] = value
    return tuple(found)
