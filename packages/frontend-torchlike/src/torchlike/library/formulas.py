"""The formulas of operators' gradients, as torch's programs register them (source: ``torch.library.register_autograd``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import dispatch_core as dc
from dispatch_core.keys import AUTOGRAD

from ..autograd.custom import make_kernel
from ..autograd.rules.fallback import run_without_formula
from ..history.grad_mode import is_grad_enabled
from .kernels import is_default, make_wrapped_kernel
from .operator_kernels import requires_grad

__all__ = ["has_keyword_tensors", "is_functional", "make_autograd_kernel", "spell"]

#: The functions of a formula: backward's, and the one that keeps parts of a call for it.
_Formula: TypeAlias = tuple[Callable[..., Any] | None, Callable[..., Any] | None]
_REQUIRED: Final = object()


def has_keyword_tensors(schema: dc.FunctionSchema) -> bool:
    """Return whether there are tensors among the keyword-only arguments of a schema."""
    return any(each.argument.kwarg_only for each in schema.tensor_arguments)


def is_functional(schema: dc.FunctionSchema) -> bool:
    """Return whether an operator writes to nothing, and has results, none of which is a view.

    >>> is_functional(dc.FunctionSchema.parse("f(Tensor x) -> Tensor"))
    True
    """
    return not schema.is_mutable and bool(schema.returns) and all(each.alias is None for each in schema.returns)


def make_autograd_kernel(
    read: Callable[[], _Formula],
    fn: Callable[..., Any],
    tags: Sequence[str] = (),
) -> dc.KernelFactory:
    """Return the kernel under Autograd for the formula that ``read`` returns at each call, which ``fn`` names in texts."""

    def make(op: Any, keyset: Any) -> Callable[..., Any]:
        below = (keyset.mask | keyset.marker) & ~AUTOGRAD
        if "out" in tags:
            return _refuse_gradients(op, below)
        if op.schema.is_mutable and any(each.alias is not None for each in op.schema.returns):
            # The written arguments are results: backward meets the missing formula there.
            return partial(run_without_formula, keyset, op)
        return make_kernel(op, keyset, _make_formula(op, read))

    return make_wrapped_kernel(fn, make)


def _make_formula(op: Any, read: Callable[[], _Formula]) -> dc.AutogradFormula:
    """Return the formula of an operator as the dispatcher knows formulas.

    As in torch, the arguments that a call leaves out, or gives as their defaults are, may be left out of the gradients too.
    """
    positional = op.schema.positional
    defaults = [each.value if each.has_default else _REQUIRED for each in positional]
    total = len(positional)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any, **keywords: Any) -> None:
        given = total
        while given and is_default(inputs[given - 1], defaults[given - 1]):
            given -= 1
        ctx.given_inputs = given
        if (setup := read()[1]) is not None:
            setup(ctx=ctx, inputs=inputs, output=output, **keywords)

    def backward(ctx: Any, *grads: Any) -> Any:
        run = read()[0]
        if run is None:
            raise RuntimeError(
                f"Trying to backward through {spell(op)} but no autograd formula was registered. Please use "
                "register_autograd to add one."
            )
        needs, given = ctx.needs_input_grad, ctx.given_inputs
        ctx.needs_input_grad = needs[:given]
        try:
            found = run(ctx, *grads)
        finally:
            ctx.needs_input_grad = needs
        results = found if isinstance(found, tuple) else (found,)
        if len(results) < total and len(results) != given:
            expected = f"{given}" if given == total else f"{given} or {total}"
            raise RuntimeError(
                f"the backward formula of {op.name} returned an incorrect number of gradients (expected {expected}, got "
                f"{len(results)})"
            )
        return (*results, *[None] * (total - len(results)))

    return dc.AutogradFormula(backward, setup_context)


def _refuse_gradients(op: Any, below: int) -> Callable[..., Any]:
    """Return the kernel of an operator that writes to ``out`` arguments, which cannot be recorded."""
    name = op.name.rpartition("::")[2].partition(".")[0]

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if is_grad_enabled() and requires_grad(*args, **kwargs):
            raise RuntimeError(
                f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                "arguments requires grad."
            )
        return op.redispatch(below, *args, **kwargs)

    return kernel


def spell(op: Any) -> str:
    """Return an overload's name as torch spells it, ``mylib.sin.default``."""
    return f"{op.namespace}.{op.name.rpartition('::')[2].partition('.')[0]}.{op.overload_name}"
