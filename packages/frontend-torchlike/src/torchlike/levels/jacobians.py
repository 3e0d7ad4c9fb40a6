"""Products of Jacobians with vectors, Jacobians and Hessians (source: ``torch.func``).

Note [Forward by backward twice]
    Backward is linear in the gradient that enters. So the derivative along a direction is the gradient, by that entering
    gradient, of backward's result: `linearize` records backward itself, and each direction costs one more. Operators with a
    forward rule and functions with a ``jvp`` record that: see Note [A jvp as a node] in `custom_tangents`. Nested tensors
    are their values here: a direction of one has its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from typing import Any, Final

from dispatch_core.tracebacks import api_boundary

from ..autograd.gradients import grad as differentiate
from ..functions.operator_functions import FUNCTIONS
from ..history.grad_mode import is_grad_enabled
from ..tensors.tensor import Tensor
from ..values.layouts import values_of
from ..values.pytree import TreeSpec, tree_flatten, tree_leaves, tree_map, tree_unflatten
from .grad_level import ForwardLevel
from .gradients import Argnums, check_outputs, mark, pull_with_argnums, slice_argnums, split_aux, wrap_argnums
from .mapping import vmap
from .stack import above
from .tensors import NESTED, keep_histories, make_writable, on_values, refuse_layouts, require_grad

_JVP: Final = "jvp(f, primals, tangents)"


class _Linear:
    """A function that was called, and its Jacobian there as a function of a direction."""

    def __init__(
        self, func: Callable[..., Any], primals: Sequence[Any], argnums: Argnums | None, has_aux: bool
    ) -> None:
        level = self._level = ForwardLevel()
        chosen = range(len(primals)) if argnums is None else wrap_argnums(argnums, len(primals))
        own: list[Any] = []
        with above(level):
            entered = tree_map(level.enter, list(primals))
            for place in chosen:
                leaves, spec = tree_flatten(entered[place])
                own += [values_of(mark(each)) for each in leaves]
                entered[place] = tree_unflatten([on_values(make_writable, each) for each in leaves], spec)
            output, aux = split_aux(func(*entered), has_aux, _JVP)
            self._outputs, self._spec = tree_flatten(output)
            check_outputs(self._outputs, _JVP)
            refuse_layouts(self._outputs, level)
            self._results = [values_of(each) for each in self._outputs]
            level.pushes = False
            # The gradients that enter, and backward's results as functions of them.
            self._entering = [self._make_weight(each) for each in self._results if each.requires_grad]
            self._gradients: Sequence[Any] = [None] * len(own)
            if self._entering:
                reached = [each for each in self._results if each.requires_grad]
                self._gradients = differentiate(
                    reached, own, self._entering, retain_graph=True, create_graph=True, allow_unused=True
                )
                keep_histories(self._gradients, level)
        self.aux = tree_map(level.leave, aux)
        self.output = tree_unflatten(map(level.leave, self._outputs), self._spec)

    @staticmethod
    def _make_weight(result: Tensor) -> Tensor:
        weight: Tensor = FUNCTIONS["zeros_like"](result.detach())
        require_grad(weight)
        return weight

    def push(self, tangents: Sequence[Tensor], *, strict: bool = False) -> Any:
        """Return the product of the Jacobian and a direction; zeros for results that do not depend on the arguments."""
        ways = map(values_of, tangents)
        pairs = [(each, way) for each, way in zip(self._gradients, ways, strict=True) if each is not None]
        pairs = [(each, way) for each, way in pairs if each.requires_grad]
        found: Iterator[Any] = iter(())
        if pairs:
            found = iter(
                differentiate(
                    [each for each, _ in pairs],
                    self._entering,
                    [way for _, way in pairs],
                    retain_graph=True,
                    create_graph=is_grad_enabled(),
                    allow_unused=True,
                )
            )
        products = [next(found, None) if each.requires_grad else None for each in self._results]
        if strict and None in products:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
                "with strict=True."
            )
        left = map(self._level.leave, self._outputs)
        filled = [
            on_values(FUNCTIONS["zeros_like"] if each is None else partial(_instead, self._level.leave(each)), like)
            for each, like in zip(products, left, strict=True)
        ]
        return tree_unflatten(filled, self._spec)


def _instead(value: Tensor, _: Tensor) -> Tensor:
    return value


@api_boundary
def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """Return the result of ``func``, and the product of its Jacobian and a vector; with ``has_aux`` a third.

    >>> import torchlike
    >>> jvp(torchlike.sin, (torchlike.zeros(2),), (torchlike.tensor([1.0, 2.0]),))
    (tensor([0., 0.]), tensor([1., 2.]))
    """
    return push_with_argnums(func, primals, tangents, None, strict, has_aux)


def push_with_argnums(
    func: Callable[..., Any], primals: Any, tangents: Any, argnums: Argnums | None, strict: bool, has_aux: bool
) -> Any:
    """Return the result of `jvp`, for a direction of the chosen arguments alone."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    leaves, spec = tree_flatten(primals if argnums is None else slice_argnums(primals, argnums))
    ways, given = tree_flatten(tangents)
    if given != spec:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple "
            f"of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with structure {given}"
        )
    for name, values in (("primals", leaves), ("tangents", ways)):
        if not values:
            raise RuntimeError(f"{_JVP}: Expected {name} to contain at least one Tensor.")
        for each in values:
            if not isinstance(each, Tensor):
                raise RuntimeError(f"{_JVP}: Expected {name} to only contain Tensors, got {type(each)}")
    for leaf, way in zip(leaves, ways, strict=True):
        if leaf.shape != way.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                f"supported. Tensor is of size {list(leaf.shape)} while the given forward gradient is of size "
                f"{list(way.shape)}."
            )
    linear = _Linear(func, primals, argnums, has_aux)
    product = linear.push(ways, strict=strict)
    return (linear.output, product, linear.aux) if has_aux else (linear.output, product)


@api_boundary
def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the result of ``func``, and its Jacobian there as a function of a vector; ``func`` is called once.

    >>> import torchlike
    >>> _, multiply = linearize(torchlike.sin, torchlike.zeros(2))
    >>> multiply(torchlike.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    leaves, spec = tree_flatten(primals)
    linear = _Linear(func, primals, None, False)

    @api_boundary
    def multiply(*tangents: Any) -> Any:
        ways, given = tree_flatten(tangents)
        if given != spec:
            raise RuntimeError(f"Expected the tangents {given} to have the same argspec as the primals {spec}")
        for number, (way, leaf) in enumerate(zip(ways, leaves, strict=True)):
            for what in ("shape", "device", "dtype"):
                if getattr(way, what) != getattr(leaf, what):
                    raise RuntimeError(
                        f"tangent:{number} with {what} {getattr(way, what)} in flattened pytree doesn't match the {what} "
                        f"{getattr(leaf, what)} of the corresponding primal."
                    )
        return linear.push(ways)

    return linear.output, multiply


def list_bases(tensors: Sequence[Tensor], chunk_size: int | None) -> Iterator[list[Tensor]]:
    """Yield the unit vectors of all elements of some tensors, as many at a time: rows that each tensor has a part of."""
    sizes = [each.numel() for each in tensors]
    total, step = sum(sizes), chunk_size or sum(sizes)
    for start in range(0, max(total, 1), max(step, 1)):
        rows, offset, parts = min(step, total - start), 0, []
        for each, size in zip(tensors, sizes, strict=True):
            units = each.new_zeros((rows, size))
            units.diagonal(start - offset).fill_(1)
            parts.append(units.view((rows, *each.shape)))
            offset += size
        yield parts


def _refuse_nested(who: str, values: Sequence[Any]) -> None:
    """Refuse nested tensors among the differentiated values: a row of a Jacobian has one shape."""
    if any(getattr(each, "_dispatch_mask", 0) & NESTED for each in values):
        raise TypeError(
            f"{who}(): inputs and outputs of layout torchlike.jagged are not supported\n"
            "Hint: differentiate a function of x.values() that returns values(); grad, vjp and jvp take nested tensors"
        )


def _check_real(who: str, values: Any, which: str) -> None:
    for index, each in enumerate(tree_leaves(values)):
        if isinstance(each, Tensor) and each.dtype.is_complex:
            raise RuntimeError(
                f"{who}: Expected all {which} to be real but received complex tensor at flattened input idx: {index}"
            )


def _arrange(parts: Sequence[Sequence[Any]], outputs: TreeSpec, inputs: TreeSpec, argnums: Argnums) -> Any:
    """Return blocks of a Jacobian, one row for each output, in the structures of outputs and inputs."""
    rows = [tree_unflatten(row, inputs) for row in parts]
    return tree_unflatten([row[0] for row in rows] if isinstance(argnums, int) else rows, outputs)


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """Return a function that gives the Jacobian of ``func`` by backward: the result's dimensions, then the argument's.

    All rows are computed at once, or ``chunk_size`` at a time. Raises ``RuntimeError`` for complex tensors.

    >>> import torchlike
    >>> jacrev(torchlike.sin)(torchlike.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @wraps(func)
    @api_boundary
    def call(*args: Any) -> Any:
        _check_real("jacrev", args, "inputs")
        output, multiply, *aux = pull_with_argnums(func, args, argnums, has_aux)
        results, outputs = tree_flatten(output)
        _check_real("jacrev", results, "outputs")
        leaves, inputs = tree_flatten(slice_argnums(args, argnums))
        _refuse_nested("jacrev", [*results, *leaves])
        chunks = []
        for basis in list_bases(results, chunk_size):
            if chunk_size == 1:  # a plain call, for functions that vmap does not serve
                rows = tree_leaves(multiply(tree_unflatten([each.squeeze(0) for each in basis], outputs)))
                chunks.append([each.unsqueeze(0) for each in rows])
            else:
                chunks.append(tree_leaves(vmap(multiply)(tree_unflatten(basis, outputs))))
        columns = [parts[0] if len(parts) == 1 else FUNCTIONS["cat"](parts, 0) for parts in zip(*chunks, strict=True)]
        sizes = [each.numel() for each in results]
        blocks = [FUNCTIONS["split"](column, sizes, dim=0) for column in columns]
        parts = [
            [block.view((*result.shape, *leaf.shape)) for block, leaf in zip(row, leaves, strict=True)]
            for row, result in zip(zip(*blocks, strict=True), results, strict=True)
        ]
        found = _arrange(parts, outputs, inputs, argnums)
        return (found, aux[0]) if has_aux else found

    return call


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """Return a function that gives the Jacobian of ``func`` by directions: the result's dimensions, then the argument's.

    ``randomness`` is that of `vmap`, under which the function is called. Raises ``RuntimeError`` for complex tensors.

    >>> import torchlike
    >>> jacfwd(torchlike.sin)(torchlike.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @wraps(func)
    @api_boundary
    def call(*args: Any) -> Any:
        _check_real("jacfwd", args, "inputs")
        leaves, inputs = tree_flatten(slice_argnums(args, argnums))
        _refuse_nested("jacfwd", leaves)
        (basis,) = list_bases(leaves, None)
        aux_leaves: list[Any] = []
        aux_spec: Any = None

        def push(*ways: Any) -> Any:
            nonlocal aux_leaves, aux_spec
            output, product, *aux = push_with_argnums(func, args, tree_unflatten(ways, inputs), argnums, False, has_aux)
            _check_real("jacfwd", output, "outputs")
            _refuse_nested("jacfwd", tree_leaves(output))
            aux_leaves, aux_spec = tree_flatten(aux)
            return product, [each for each in aux_leaves if isinstance(each, Tensor)]

        found, rows = vmap(push, randomness=randomness)(*basis)
        products, outputs = tree_flatten(found)
        sizes = [each.numel() for each in leaves]
        parts = [
            [
                block.reshape((*block.shape[:-1], *leaf.shape))
                for block, leaf in zip(FUNCTIONS["split"](each.movedim(0, -1), sizes, dim=-1), leaves, strict=True)
            ]
            for each in products
        ]
        jacobian = _arrange(parts, outputs, inputs, argnums)
        if not has_aux:
            return jacobian
        # Tensors come out of vmap, once for each direction; anything else is as the function gave it.
        left = iter(rows)
        (aux,) = tree_unflatten([next(left)[0] if isinstance(each, Tensor) else each for each in aux_leaves], aux_spec)
        return jacobian, aux

    return call


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that gives the second derivatives of ``func``.

    >>> import torchlike
    >>> hessian(lambda x: (x**3).sum())(torchlike.ones(2))
    tensor([[6., 0.],
            [0., 6.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
