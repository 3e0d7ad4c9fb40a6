"""Functions made of functions: their gradients, Jacobians, and the call for each row of a batch (source: ``torch.func``).

Note [Gradients of gradients]
    A transform works on its own leaves. What it returns keeps its history only where that reaches another leaf: of an
    outer transform, or a parameter that the function uses.

Note [One row at a time]
    `vmap` calls the function for each row and stacks what it returns, so that each function of a row may be called.
    Random numbers differ between rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import dispatch_core as dc

from .autograd.functional import jvp as _multiply_jacobian
from .autograd.gradients import grad as _differentiate
from .history import enable_grad
from .nn import Module
from .tensors import Tensor
from .utils.pytree import tree_flatten, tree_map, tree_unflatten

__all__ = [
    "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "stack_module_state", "vjp", "vmap",
]  # fmt: skip


def _open(value: Any) -> Any:
    """Return a tensor to differentiate by: a leaf, or a view of what another transform differentiates by."""
    if not isinstance(value, Tensor):
        return value
    return value.view_as(value) if value.requires_grad else value.detach().requires_grad_()


def _close(tree: Any, own: Sequence[Tensor]) -> Any:
    """Return results without history that reaches no leaf but ``own``; see Note [Gradients of gradients]."""
    kept = {id(leaf) for leaf in own if leaf.is_leaf}
    known: dict[Any, bool] = {}

    def is_outer(node: Any) -> bool:
        stack = [node]
        while stack:
            each = stack.pop()
            if each is None or id(each) in known:
                continue
            known[id(each)] = True
            nodes.append(each)
            variable = getattr(each, "variable", None)
            if variable is not None and id(variable) not in kept:
                return True
            stack.extend(following for following, _ in each.next_functions)
        return False

    nodes: list[Any] = []  # kept, so that none of their ids is another's
    tensors = [each for each in tree_flatten(tree)[0] if isinstance(each, Tensor) and each.requires_grad]
    if any(is_outer(each.grad_fn) if each.grad_fn is not None else id(each) not in kept for each in tensors):
        return tree
    return tree_map(lambda each: each.detach() if isinstance(each, Tensor) else each, tree)


def _call(func: Callable[..., Any], args: Sequence[Any], kwargs: Any, argnums: Any) -> tuple[Any, Any, list[Tensor]]:
    """Return the result of a call, the arguments to differentiate by, and their tensors."""
    given = list(args)
    for place in (argnums,) if isinstance(argnums, int) else argnums:
        given[place] = tree_map(_open, given[place])
    wanted = given[argnums] if isinstance(argnums, int) else tuple(given[place] for place in argnums)
    own = [each for each in tree_flatten(wanted)[0] if isinstance(each, Tensor)]
    return func(*given, **kwargs), wanted, own


def _pull(results: list[Tensor], own: list[Tensor], grads: list[Any]) -> list[Tensor]:
    """Return the gradients of results, zeros where there is no way to them."""
    pairs = [(result, grad) for result, grad in zip(results, grads, strict=True) if result.requires_grad]
    if not pairs:
        return [each.new_zeros(each.shape) for each in own]
    outputs, weights = zip(*pairs, strict=True)
    found = _differentiate(outputs, own, weights, create_graph=True, allow_unused=True)
    return [each.new_zeros(each.shape) if got is None else got for each, got in zip(own, found, strict=True)]


def grad_and_value(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """Return a function that gives the gradient and the result of ``func``, whose result is one number.

    With ``has_aux`` the function returns a pair, of which only the first is differentiated.
    """

    @wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            result, wanted, own = _call(func, args, kwargs, argnums)
            value, aux = result if has_aux else (result, None)
            if not isinstance(value, Tensor) or value.dim():
                raise RuntimeError(
                    "Expected f(*args) to return a scalar tensor, got tensor with "
                    f"{value.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                    if isinstance(value, Tensor)
                    else f"Expected f(*args) to return a tensor, got {type(value)}"
                )
            grads = tree_unflatten(_pull([value], own, [None]), tree_flatten(wanted)[1])
            grads, value, aux = (_close(each, own) for each in (grads, value, aux))
        return (grads, (value, aux)) if has_aux else (grads, value)

    return call


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """Return a function that gives the gradient of ``func`` by the chosen arguments.

    >>> import torchlike
    >>> grad(grad(torchlike.sin))(torchlike.zeros(()))
    tensor(-0.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return call


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return the result of ``func``, and a function that multiplies a vector by its Jacobian."""
    with enable_grad():
        result, wanted, own = _call(func, primals, {}, tuple(range(len(primals))))
    result, aux = result if has_aux else (result, None)
    results, spec = tree_flatten(result)
    inputs = tree_flatten(wanted)[1]

    def pull(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        with enable_grad():
            found = tree_unflatten(_pull(results, own, tree_flatten(given)[0]), inputs)
        return _close(found, own)

    closed = _close(tree_unflatten(results, spec), own)
    return (closed, pull, _close(aux, own)) if has_aux else (closed, pull)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """Return the result of ``func`` and the product of its Jacobian and a vector."""
    made: list[Any] = []
    leaves, inputs = tree_flatten(tuple(primals))

    def call(*args: Tensor) -> Any:
        result = func(*tree_unflatten(args, inputs))
        result, aux = result if has_aux else (result, None)
        results, spec = tree_flatten(result)
        made[:] = [spec, aux]
        return tuple(results)

    found = _multiply_jacobian(call, tuple(leaves), tuple(tree_flatten(tuple(tangents))[0]), strict=strict)
    result, product = (tree_unflatten(each, made[0]) for each in found)
    return (result, product, made[1]) if has_aux else (result, product)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the result of ``func``, and its Jacobian there as a function of a vector."""
    return func(*primals), lambda *tangents: jvp(func, primals, tangents)[1]


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    randomness: str = "error",
) -> Any:
    """Return a function that gives the Jacobian of ``func``: the result's dimensions, then the argument's."""

    @wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            result, wanted, own = _call(func, args, kwargs, argnums)
            result, aux = result if has_aux else (result, None)
            results, spec = tree_flatten(result)
            inputs = tree_flatten(wanted)[1]

            def differentiate(each: Tensor) -> Any:
                units = _list_units(each)
                rows = [_pull([each], own, [unit.reshape(each.shape)]) for unit in units]
                columns = [
                    _stack(list(column), 0).reshape(*each.shape, *leaf.shape)
                    for column, leaf in zip(zip(*rows, strict=True), own, strict=True)
                ]
                return tree_unflatten(columns, inputs)

            found = tree_unflatten([differentiate(each) for each in results], spec)
            found, aux = _close(found, own), _close(aux, own)
        return (found, aux) if has_aux else found

    return call


def _list_units(like: Tensor) -> Any:
    """Return the unit vectors of a tensor's elements."""
    return like.new_ones(like.numel()).diag()


def _stack(tensors: list[Tensor], dim: int) -> Tensor:
    stacked: Tensor = dc.ops.aten.stack.default(tensors, dim)
    return stacked


jacfwd = jacrev


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Any:
    """Return a function that gives the second derivatives of ``func``, whose result is one number.

    >>> import torchlike
    >>> hessian(lambda x: (x**3).sum())(torchlike.ones(2))
    tensor([[6., 0.],
            [0., 6.]])
    """
    return jacrev(jacrev(func, argnums), argnums)


def _spread(dims: Any, value: Any) -> list[tuple[Any, int | None]]:
    """Return the leaves of an argument, each with the dimension that is its batch, or None."""
    leaves = tree_flatten(value)[0]
    if dims is None or isinstance(dims, int):
        return [(leaf, dims if isinstance(leaf, Tensor) else None) for leaf in leaves]
    if isinstance(dims, dict):
        return [pair for name in value for pair in _spread(dims[name], value[name])]
    return [pair for dim, part in zip(dims, value, strict=True) for pair in _spread(dim, part)]


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Any:
    """Return a function that calls ``func`` for each row of a batch; see Note [One row at a time].

    ``in_dims`` is the batch's dimension in each argument, None where an argument has none. Raises ``ValueError`` where the
    batches differ in length, or there is none.

    >>> import torchlike
    >>> vmap(torchlike.dot)(torchlike.ones(2, 3), torchlike.ones(2, 3))
    tensor([3., 3.])
    """

    @wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        dims = in_dims if isinstance(in_dims, (tuple, list)) else (in_dims,) * len(args)
        pairs = [pair for dim, arg in zip(dims, args, strict=True) for pair in _spread(dim, arg)]
        pairs += _spread(0, kwargs)
        spec = tree_flatten((args, kwargs))[1]
        sizes = {leaf.shape[dim] for leaf, dim in pairs if dim is not None}
        if not sizes:
            raise ValueError("vmap: at least one argument must be a tensor with a batch dimension")
        if len(sizes) > 1:
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sorted(sizes)} for"
                " the mapped dimension"
            )
        rows = []
        for place in range(sizes.pop()):
            leaves = [leaf if dim is None else leaf.select(dim, place) for leaf, dim in pairs]
            given, named = tree_unflatten(leaves, spec)
            rows.append(tree_flatten(func(*given, **named)))
        if not rows:
            raise ValueError("vmap: the batch is empty")
        made = rows[0][1]
        columns = list(zip(*(leaves for leaves, _ in rows), strict=True))
        out = [out_dims] * len(columns) if isinstance(out_dims, int) else list(out_dims)
        return tree_unflatten(
            [column[0] if dim is None else _stack(list(column), dim) for column, dim in zip(columns, out, strict=True)],
            made,
        )

    return call


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the parameters and the buffers of equal modules, each stacked to one tensor.

    Raises ``RuntimeError`` where there are no modules, or they are of several types.
    """
    given = list(models)
    if not given:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({type(model) for model in given}) > 1 or len({model.training for model in given}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class and mode.")
    parameters = {
        name: _stack([dict(model.named_parameters())[name] for model in given], 0)
        .detach()
        .requires_grad_(first.requires_grad)
        for name, first in given[0].named_parameters()
    }
    buffers = {
        name: _stack([dict(model.named_buffers())[name] for model in given], 0).detach()
        for name, _ in given[0].named_buffers()
    }
    return parameters, buffers
