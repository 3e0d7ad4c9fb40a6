"""Gradients of functions, and products of vectors with their Jacobians (source: ``torch.func``).

The function runs on tensors of a level, which records it; backward runs once the level is closed. A closed level's
tensors are their values, so backward's calls belong to the transforms around, which record them where they differentiate
in turn. Nothing is recorded twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeAlias

from dispatch_core.tracebacks import api_boundary

from ..autograd.gradients import grad as differentiate
from ..functions.operator_functions import FUNCTIONS
from ..history.grad_mode import is_grad_enabled
from ..tensors.tensor import Tensor
from ..values.pytree import tree_flatten, tree_map, tree_unflatten
from .grad_level import GradLevel
from .stack import above
from .tensors import keep_histories, refuse_layouts, require_grad

__all__ = [
    "Argnums",
    "check_outputs",
    "grad",
    "grad_and_value",
    "mark",
    "pull_with_argnums",
    "slice_argnums",
    "split_aux",
    "vjp",
    "wrap_argnums",
]

Argnums: TypeAlias = int | tuple[int, ...]


def slice_argnums(args: Sequence[Any], argnums: Argnums) -> tuple[Any, ...]:
    """Return the chosen arguments; raises ``RuntimeError`` for numbers that choose none, or one twice."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    places = wrap_argnums(argnums, len(args))
    if not places:
        raise RuntimeError("argnums must be non-empty")
    if len(set(places)) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple(args[place] for place in places)


def wrap_argnums(argnums: Argnums, count: int) -> tuple[int, ...]:
    """Return the places of the chosen arguments, none of them negative."""
    wrapped = []
    for number in argnums if isinstance(argnums, tuple) else (argnums,):
        if not isinstance(number, int):
            raise RuntimeError(f"argnum must be int, got: {type(number)}")
        if not -count <= number < count:
            raise RuntimeError(f"Got argnum={number}, but only {count} positional inputs")
        wrapped.append(number % count)
    return tuple(wrapped)


def mark(value: Any) -> Any:
    """Make a level's tensor one to differentiate by; raises for anything that cannot be."""
    if not isinstance(value, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
    if not value.dtype.is_differentiable:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    require_grad(value)
    return value


def split_aux(result: Any, has_aux: bool, who: str) -> tuple[Any, Any]:
    """Return a function's result and its auxiliary value, None where it has none."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{who}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result[0], result[1]


def pull(
    results: Sequence[Tensor],
    inputs: Sequence[Tensor],
    weights: Sequence[Tensor | None],
    *,
    retain_graph: bool = False,
    create_graph: bool | None = None,
) -> list[Any]:
    """Return the gradients of results, zeros where there is no way to them."""
    pairs = [(result, weight) for result, weight in zip(results, weights, strict=True) if result.requires_grad]
    found: Sequence[Any] = [None] * len(inputs)
    if pairs:
        found = differentiate(
            [result for result, _ in pairs],
            list(inputs),
            [weight for _, weight in pairs],
            retain_graph=retain_graph,
            create_graph=is_grad_enabled() if create_graph is None else create_graph,
            allow_unused=True,
        )
    return [FUNCTIONS["zeros_like"](each) if got is None else got for each, got in zip(inputs, found, strict=True)]


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that gives the gradient and the result of ``func``, whose result is one number.

    With ``has_aux`` the function returns a pair, of which only the first is differentiated; the second stands beside the
    result.

    >>> import torchlike
    >>> grad_and_value(lambda x: (x * x).sum())(torchlike.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """

    @wraps(func)
    @api_boundary
    def call(*args: Any, **kwargs: Any) -> Any:
        level = GradLevel()
        with above(level, records=True):
            entered, named = tree_map(level.enter, list(args)), tree_map(level.enter, kwargs)
            wanted = slice_argnums(entered, argnums)
            own, spec = tree_flatten(wanted[0] if isinstance(argnums, int) else wanted)
            for each in own:
                mark(each)
            output, aux = split_aux(func(*entered, **named), has_aux, "grad_and_value(f)(*args)")
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}"
                )
            if output.dim():
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            refuse_layouts([output], level)
            keep_histories([output], level)
        found = tree_unflatten(map(level.leave, pull([output], own, [None])), spec)
        value, aux = level.leave(output), tree_map(level.leave, aux)
        return (found, (value, aux)) if has_aux else (found, value)

    return call


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that gives the gradient of ``func`` by the chosen arguments.

    >>> import torchlike
    >>> grad(grad(torchlike.sin))(torchlike.zeros(()))
    tensor(-0.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    @api_boundary
    def call(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return call


@api_boundary
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return the result of ``func``, and a function that multiplies a vector by its Jacobian; with ``has_aux`` a third.

    >>> import torchlike
    >>> _, multiply = vjp(torchlike.sin, torchlike.zeros(2))
    >>> multiply(torchlike.tensor([1.0, 2.0]))
    (tensor([1., 2.]),)
    """
    return pull_with_argnums(func, primals, None, has_aux)


def pull_with_argnums(func: Callable[..., Any], primals: Sequence[Any], argnums: Argnums | None, has_aux: bool) -> Any:
    """Return the result of `vjp`, for the chosen arguments alone: for all of them where ``argnums`` is None."""
    who = "vjp(f, *primals)"
    level = GradLevel()
    with above(level, records=True):
        entered = tuple(tree_map(level.enter, list(primals)))
        wanted: Any = entered
        if argnums is not None:
            wanted = slice_argnums(entered, argnums)
            wanted = wanted[0] if isinstance(argnums, int) else wanted
        own, inputs = tree_flatten(wanted)
        for each in own:
            mark(each)
        output, aux = split_aux(func(*entered), has_aux, who)
        results, spec = tree_flatten(output)
        check_outputs(results, who)
        for each in results:
            if not each.dtype.is_differentiable:
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                    f"{each.dtype}"
                )
        refuse_layouts(results, level)
        keep_histories(results, level)

    def multiply(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        weights, given = tree_flatten(cotangents)
        if given != spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {given}, primal output: {spec}"
            )
        found = pull(results, own, weights, retain_graph=retain_graph, create_graph=create_graph)
        return tree_unflatten(map(level.leave, found), inputs)

    left = tree_unflatten(map(level.leave, results), spec)
    return (left, multiply, tree_map(level.leave, aux)) if has_aux else (left, multiply)


def check_outputs(results: list[Any], who: str) -> None:
    """Refuse a function's results that are none, or no tensors."""
    if not results or (len(results) == 1 and results[0] is None):
        raise RuntimeError(f"{who}: Expected f to be a function that has non-empty output (got output = {results})")
    for each in results:
        if not isinstance(each, Tensor):
            raise RuntimeError(f"{who}: expected f(*primals) to return only tensors, got unsupported type {type(each)}")
