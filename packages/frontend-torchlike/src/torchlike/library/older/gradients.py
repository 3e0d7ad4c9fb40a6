"""Formulas of the older API: kept parts of a call, and gradients by name (source: ``torch._custom_op.autograd``)."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import dispatch_core as dc
from dispatch_core.keys import AUTOGRAD

from ...autograd.custom import make_kernel
from ...history.grad_mode import is_grad_enabled
from ...names.lazy_names import import_lazily
from ...tensors.tensor import Tensor
from ...values.pytree import tree_flatten, tree_unflatten
from ..kernels import make_wrapped_kernel
from ..operator_kernels import iterate_tensors, requires_grad

if TYPE_CHECKING:
    from .registrations import CustomOp
else:
    CustomOp = import_lazily("torchlike.library.older.registrations", "CustomOp")

__all__ = ["make_autograd_kernel", "make_formula"]


def make_autograd_kernel(custom_op: CustomOp) -> dc.KernelFactory:
    """Return the kernel under Autograd of an operator, which runs its formula, or says what is missing of it."""

    def make(op: Any, keyset: Any) -> Callable[..., Any]:
        below = (keyset.mask | keyset.marker) & ~AUTOGRAD
        run: list[Callable[..., Any]] = []

        def kernel(*args: Any, **kwargs: Any) -> Any:
            if custom_op._has_impl("autograd"):
                if not run:
                    run.append(make_kernel(op, keyset, custom_op._get_impl("autograd").func()))
                return run[0](*args, **kwargs)
            for found, missing in (("backward", "save_for_backward"), ("save_for_backward", "backward")):
                if custom_op._has_impl(found):
                    raise RuntimeError(
                        f"We found a '{found}' registration for {custom_op} at {custom_op._get_impl(found).location} but "
                        f"were unable to find a '{missing}' registration. To use the CustomOp API to register a backward "
                        "formula, please provide us both a backward function and a 'save for backward' function via "
                        "`impl_backward` and `impl_save_for_backward` respectively."
                    )
            if is_grad_enabled() and requires_grad(*args, **kwargs):
                raise RuntimeError("Autograd has not been implemented for operator")
            return op.redispatch(below, *args, **kwargs)

        return kernel

    return make_wrapped_kernel(make_autograd_kernel, make)


def make_formula(custom_op: CustomOp) -> Callable[[], dc.AutogradFormula]:
    """Return the function that makes the dispatcher's formula of an operator's two functions."""
    schema = custom_op._schema
    names = [each.name for each in schema.arguments]
    arguments: Any = namedtuple(f"{custom_op._opname}_args", names)  # type: ignore[misc]  # noqa: PYI024  # of a schema

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any, **keywords: Any) -> None:
        given = (*inputs, *keywords.get("keyword_only_inputs", {}).values())
        kept = custom_op._get_impl("save_for_backward").func(arguments(*given), output)
        leaves, ctx.spec = tree_flatten(kept)
        ctx.save_for_backward(*[each for each in leaves if isinstance(each, Tensor)])
        #: The plain values, and None in the place of each tensor.
        ctx.plain = [(isinstance(each, Tensor), None if isinstance(each, Tensor) else each) for each in leaves]
        ctx.kinds = [[type(one) for one in each] if isinstance(each, list | tuple) else type(each) for each in given]
        _mark_results(ctx, output, custom_op._output_differentiability)

    def backward(ctx: Any, *grads: Any) -> Any:
        tensors = iter(ctx.saved_tensors)
        leaves = [next(tensors) if is_tensor else value for is_tensor, value in ctx.plain]
        found = custom_op._get_impl("backward").func(object(), tree_unflatten(leaves, ctx.spec), *grads)
        kinds = dict(zip(names, ctx.kinds, strict=True))
        _check_gradients(custom_op, found, kinds)
        return tuple([found.get(each.name) for each in schema.positional])

    return lambda: dc.AutogradFormula(backward, setup_context)


def _mark_results(ctx: Any, output: Any, marks: list[bool] | None) -> None:
    """Mark the results that have no gradient."""
    if marks is None:
        return
    results = output if isinstance(output, tuple) else (output,)
    without: list[Tensor] = []
    for index, (mark, result) in enumerate(zip(marks, results, strict=True)):
        if mark and not isinstance(result, Tensor | list):
            raise RuntimeError(
                f"With output_differentiability={marks}. At idx {index}, we received an object of type {type(result)} that "
                "is not a Tensor, so it cannot have be marked as differentiable in output_differentiability."
            )
        if not mark:
            without += iterate_tensors((result,))
    if without:
        ctx.mark_non_differentiable(*without)


def _check_gradients(custom_op: CustomOp, found: Any, kinds: dict[str, Any]) -> None:
    """Refuse gradients that are not those of the tensors among the arguments, by name; raises ``RuntimeError``."""

    def refuse(what: str) -> NoReturn:
        location = custom_op._get_impl("backward").location
        raise RuntimeError(
            f"In the backward function defined for {custom_op} at {location} using the CustomOp API, {what}"
        )

    if not isinstance(found, dict):
        refuse(f"expected the output of the backward function to be a dict but got {type(found)}")
    expected = {each.argument.name for each in custom_op._schema.tensor_arguments}
    if expected != found.keys():
        refuse(
            f"expected the returned grad_input dict to have keys {expected} but got {found.keys()}. The backward function "
            "must return a gradient (can be None) for each arg to the CustomOp that may be a Tensor or Sequence[Tensor]. "
            "Args declared to be non-Tensor-like types should not appear in the grad_input dict"
        )
    for name, grad in found.items():
        kind = kinds[name]
        if isinstance(kind, list):
            _check_list(refuse, name, grad, kind)
        elif grad is not None and not isinstance(grad, Tensor):
            refuse(
                f"got object of type {type(grad)} as the gradient for input '{name}', but expected the gradient to be "
                "either None or a Tensor"
            )
        elif grad is not None and not issubclass(kind, Tensor):
            refuse(
                f"got a Tensor as the gradient for input '{name}' but expected None as the gradient because input '{name}' "
                f"was not a Tensor (it was type {kind})."
            )


def _check_list(refuse: Callable[[str], NoReturn], name: str, grad: Any, kinds: list[type]) -> None:
    whose = f"for input '{name}' expected the grad_input dict to hold a list of"
    if not isinstance(grad, tuple | list):
        refuse(f"{whose} gradients but got object of type {type(grad)}.")
    if len(grad) != len(kinds):
        refuse(f"{whose} {len(kinds)} gradients but got {len(grad)}")
    for index, (each, kind) in enumerate(zip(grad, kinds, strict=True)):
        if each is not None and not isinstance(each, Tensor):
            refuse(f"{whose} None or Tensor gradients but got object of {type(each)} at index {index}")
        if each is not None and not issubclass(kind, Tensor):
            refuse(
                f"for input '{name}', got a Tensor as the gradient for the {index}-th value but expected None because the "
                f"{index}-th value was not a Tensor (it was type {kind})"
            )
