"""Checking an operator against its registration (source: ``torch.library.opcheck``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import dispatch_core as dc

from ..autograd.gradients import grad
from ..tensors.tensor import Tensor
from ..values.pytree import tree_leaves, tree_map_only
from .fakes import stand_in_sizes
from .formulas import spell
from .operator_kernels import iterate_tensors
from .operators import CustomOpDef
from .registration_keys import key_of_device

__all__ = ["opcheck"]


def opcheck(
    op: Any,
    args: Iterable[Any],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Iterable[str] | None = None,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Call an operator on copies of the arguments and check its effects and results against its registration.

    * ``test_schema``: it writes to the arguments that the schema says and no others, and its results share memory with
      arguments only where the schema says so;
    * ``test_autograd_registration``: where an argument requires grad, a result does so by a kernel under Autograd;
    * ``test_faketensor``: on tensors without data it gives results of the same shape, strides and dtype;
    * ``test_aot_dispatch_dynamic``: functionalized, it gives the same results and gradients, within ``atol`` and ``rtol``.

    ``test_utils`` names some of them. Returns "SUCCESS" or the error for each; with ``raise_exception`` the first is raised
    as an ``OpCheckError``. Raises ``ValueError`` for something that is not an operator (source: ``torch.library.opcheck``).

    >>> import torchlike
    >>> opcheck(torchlike.ops.aten.sin.default, (torchlike.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    overload = _find_overload(op)
    names = [*_CHECKS] if test_utils is None else [test_utils] if isinstance(test_utils, str) else [*test_utils]
    if not set(names) <= set(_CHECKS):
        raise ValueError(
            f"opcheck(op, ..., test_utils={test_utils}), expected test_utils to be subset of {tuple(_CHECKS)} but it was not"
        )
    given, named = tuple(args), kwargs or {}
    results: dict[str, Any] = {}
    for name in names:
        check = _CHECKS[name]
        try:
            check(overload, given, named, {"atol": atol, "rtol": rtol})
        except Exception as error:
            results[name] = error
            if raise_exception:
                raise dc.OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
        else:
            results[name] = "SUCCESS"
    return results


def _find_overload(op: Any) -> Any:
    if isinstance(op, CustomOpDef):
        return op.op
    if isinstance(op, dc.OpOverloadPacket):
        overloads = op.overloads()
        if len(overloads) == 1:
            return getattr(op, overloads[0])
    if not isinstance(getattr(op, "overload_name", None), str):
        raise ValueError(
            "opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got "
            f"{type(op)}"
        )
    return op


def _copy(value: Any) -> Any:
    """Return arguments with tensors of their own, leaves where they require grad."""
    return tree_map_only(Tensor, lambda each: each.detach().clone().requires_grad_(each.requires_grad), value)


def _list_tensors(value: Any) -> list[Tensor]:
    return [each for each in tree_leaves(value) if isinstance(each, Tensor)]


def _is_meta(args: Any) -> bool:
    return any(each.device.type == "meta" for each in _list_tensors(args))


def _check_schema(op: Any, args: Any, kwargs: Any, closeness: Any) -> None:
    """Hold the operator's writes, and the memory of its results, against the schema."""
    if _is_meta((args, kwargs)):
        return
    args, kwargs = _copy((args, kwargs))
    schema = op.schema
    positional = [each for each in schema.arguments if not each.kwarg_only]
    given = [*zip(positional, args, strict=False)]
    given += [(each, kwargs[each.name]) for each in schema.arguments if each.name in kwargs]
    before = [
        (argument, each, each.detach().clone()) for argument, value in given for each in iterate_tensors((value,))
    ]
    found = op(*args, **kwargs)
    written = {dc.storage_of(each) for argument, each, _ in before if argument.is_write}
    for argument, each, old in before:
        if dc.storage_of(each) not in written and not _is_equal(each.detach(), old):
            raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")
    places = {dc.storage_of(each): argument for argument, each, _ in before}
    results = found if len(schema.returns) != 1 and isinstance(found, tuple) else (found,)
    seen: set[Any] = set()
    for returned, result in zip(schema.returns, results, strict=False):
        for each in iterate_tensors((result,)):
            place = dc.storage_of(each)
            argument = places.get(place)
            if argument is not None and not _may_share(argument, returned):
                raise RuntimeError(f"Argument {argument.name} is not defined to alias output but was aliasing")
            if place in seen and returned.alias is None:
                raise RuntimeError("Outputs are not defined to alias each other but were aliasing")
            seen.add(place)


def _may_share(argument: Any, returned: Any) -> bool:
    if argument.alias is None or returned.alias is None:
        return False
    return bool(argument.alias.after & returned.alias.before) or "*" in argument.alias.after | returned.alias.before


def _is_equal(value: Tensor, old: Tensor) -> bool:
    """Return whether a tensor has the values that it had, NaN as NaN."""
    if value.shape != old.shape:
        return False
    same = value == old
    if value.is_floating_point() or value.is_complex():
        same = same | (value.isnan() & old.isnan())
    return bool(same.all())


def _check_autograd(op: Any, args: Any, kwargs: Any, closeness: Any) -> None:
    """Refuse results that require grad by the kernels of a device, and not by one under Autograd."""
    given = _list_tensors((args, kwargs))
    if not any(each.requires_grad for each in given):
        return
    keys = ["Autograd", "CompositeImplicitAutograd", *(f"Autograd{key_of_device(each.device.type)}" for each in given)]
    for key in keys:
        if key in dc.DispatchKey and (held := op.registrations(dc.DispatchKey[key])) and not held[0].is_fallthrough:
            return
    args, kwargs = _copy((args, kwargs))
    inputs = {id(each) for each in _list_tensors((args, kwargs))}
    found = op(*args, **kwargs)
    if any(each.requires_grad and id(each) not in inputs for each in _list_tensors(found)):
        raise AssertionError(
            f"{op.name}: at least one output of this operator has requires_grad=True but the operator does not have an "
            "autograd kernel defined at an autograd key (e.g. DispatchKey::Autograd). This could mean that you have "
            "incorrectly registered an autograd kernel to a non-Autograd DispatchKey, which may lead to silently incorrect "
            "results. If your operator consists of operators alone, register it as CompositeImplicitAutograd."
        )


def _check_fake(op: Any, args: Any, kwargs: Any, closeness: Any) -> None:
    """Compare the results on tensors without data with those on the arguments."""
    if _is_meta((args, kwargs)):
        return
    fakes, fake_kwargs = tree_map_only(Tensor, lambda each: each.detach().to("meta"), (args, kwargs))
    try:
        with stand_in_sizes() as sizes:
            found = op(*fakes, **fake_kwargs)
    except dc.NoKernelError as error:
        fault = RuntimeError(
            f"{spell(op)}: there is no fake impl or Meta kernel that serves tensors without data: {error}"
        )
        raise fault from error
    given, named = _copy((args, kwargs))
    real = op(*given, **named)
    expected, actual = _list_tensors(real), _list_tensors(found)
    if len(expected) != len(actual):
        raise AssertionError(f"the real results have {len(expected)} tensors, those of the fake {len(actual)}")
    for left, right in zip(expected, actual, strict=True):
        unknown = [number in sizes for number in right.shape]
        pairs = zip(left.shape, right.shape, unknown, strict=False)
        if left.dim() != right.dim() or any(real != fake for real, fake, is_unknown in pairs if not is_unknown):
            raise AssertionError(f"Shapes {left.shape} and {right.shape} are not equal!")
        if left.dtype != right.dtype:
            raise AssertionError(f"Dtypes {left.dtype} and {right.dtype} are not equal!")
        if left.numel() and not any(unknown) and left.stride() != right.stride():
            raise AssertionError(f"Stride mismatch! Strides are {left.stride()} and {right.stride()}")
    if _shared_memory((given, named), real) != _shared_memory((fakes, fake_kwargs), found):
        raise AssertionError("the results share memory with other arguments than those of the fake")


def _shared_memory(given: Any, found: Any) -> set[tuple[int, int]]:
    """Return the pairs of an argument and a result, by their places, that lie in the same memory."""
    places = [dc.storage_of(each) for each in _list_tensors(given)]
    results = enumerate(_list_tensors(found))
    return {(i, j) for j, each in results for i, place in enumerate(places) if place == dc.storage_of(each)}


def _check_functionalized(op: Any, args: Any, kwargs: Any, closeness: Any) -> None:
    """Compare results and gradients of a functionalized call with those of a call as it is."""
    from ..func import functionalize
    from ..testing.closeness import assert_close

    schema = op.schema
    if any(each.alias is not None for each in schema.returns) and not op.namespace == "aten":
        raise RuntimeError(
            f"Found a custom (non-ATen) operator whose output has alias annotations: {schema}. We only support "
            "functionalizing operators whose outputs do not have alias annotations: 'Tensor(a)' has one, and says that the "
            "output shares storage with an input."
        )
    _check_fake(op, args, kwargs, closeness)
    if _is_meta((args, kwargs)) or schema.is_mutable:
        return
    plain = _run(op, *_copy((args, kwargs)))
    given, named = _copy((args, kwargs))
    try:
        again = _run(functionalize(lambda *values: op(*values, **named)), given, {})
    except RuntimeError as error:
        if "setup_context" not in str(error):
            raise
        # A custom autograd function that is written for no transform: two plain calls are compared.
        again = _run(op, *_copy((args, kwargs)))
    for what, expected, actual in (("outputs", plain[0], again[0]), ("gradients", plain[1], again[1])):
        for left, right in zip(expected, actual, strict=True):
            if (left is None) is not (right is None):
                raise AssertionError(f"Comparing the {what} of eager-mode PyTorch vs AOTDispatcher: one has a gradient")
            if left is None:
                continue
            try:
                assert_close(right, left, **closeness)
            except AssertionError as error:
                raise AssertionError(
                    f"The {what} of the operator are different under eager-mode PyTorch vs AOTDispatcher (the call "
                    f"functionalized): {error}"
                ) from error


def _run(fn: Callable[..., Any], args: Any, kwargs: Any) -> tuple[list[Tensor | None], list[Tensor | None]]:
    """Return the results of a call, and the gradients of their sum."""
    leaves = [each for each in _list_tensors((args, kwargs)) if each.requires_grad]
    results = _list_tensors(fn(*args, **kwargs))
    values: list[Tensor | None] = [each.detach() for each in results]
    differentiable = [each for each in results if each.requires_grad]
    grads: list[Tensor | None] = []
    if leaves and differentiable:
        total: Any = sum(each.abs().sum() if each.is_complex() else each.sum() for each in differentiable)
        grads = list(grad(total, leaves, allow_unused=True))
    return values, grads


_CHECKS: Final[dict[str, Callable[[Any, Any, Any, Any], None]]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd,
    "test_faketensor": _check_fake,
    "test_aot_dispatch_dynamic": _check_functionalized,
}
