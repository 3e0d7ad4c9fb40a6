"""Jacobians by finite differences, by backward and by dual numbers, for `gradcheck`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..autograd.forward_ad import dual_level, make_dual, unpack_dual
from ..autograd.gradients import grad
from ..creation.factories import as_tensor
from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from ..values.layouts import has_sparse_layout


def to_tuple(values: Any) -> tuple[Any, ...]:
    """Return values as a tuple; a single one alone."""
    return tuple(values) if isinstance(values, (list, tuple)) else (values,)


def differentiable(values: Any) -> list[Tensor]:
    """Return the tensors that require grad."""
    return [each for each in to_tuple(values) if isinstance(each, Tensor) and each.requires_grad]


def _read(tensor: Tensor) -> np.ndarray[Any, Any]:
    return np.asarray(tensor.detach().cpu().contiguous().numpy()).reshape(-1)


def outputs_of(func: Callable[..., Any], inputs: Sequence[Any]) -> list[Tensor]:
    """Return the results of a function that may have gradients."""
    found = to_tuple(func(*inputs))
    return [each for each in found if isinstance(each, Tensor) and each.dtype.is_differentiable]


def _is_sparse(value: Any) -> bool:
    return isinstance(value, Tensor) and has_sparse_layout(value)


def _take_apart(tensor: Tensor, masked: bool) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Return the elements of a sparse tensor, and the function that makes the tensor of them.

    With ``masked`` the elements are those that are there, otherwise those of all places.
    """
    from ..sparse.compressed.operators import convert_like, remake
    from ..sparse.construction import sparse_coo_tensor  # few programs check any

    if not tensor.is_sparse:
        dense = tensor.detach().to_dense()
        every = convert_like(FUNCTIONS["ones_like"](dense), tensor)
        values = tensor.values().detach() if masked else dense
        return values.clone().requires_grad_(
            tensor.requires_grad
        ), lambda elements: remake(tensor, elements) if masked else elements.sparse_mask(every)
    size, rank, is_coalesced = tensor.shape, tensor.sparse_dim(), not masked or tensor.is_coalesced()
    if masked:
        indices, values = tensor._dispatch_data.indices, tensor._dispatch_data.values
    else:
        sparse = tuple(size[:rank])
        indices = as_tensor(np.indices(sparse).reshape(rank, -1), device=tensor.device)
        values = tensor.detach().to_dense().reshape(prod(size[:rank]), *size[rank:])
    return (
        values.detach().clone().requires_grad_(tensor.requires_grad),
        lambda elements: sparse_coo_tensor(indices, elements, size, is_coalesced=is_coalesced, check_invariants=False),
    )


def make_strided(
    func: Callable[..., Any], inputs: tuple[Any, ...], masked: bool
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function of strided tensors with strided results that computes ``func``, and its inputs."""
    makers: dict[int, Callable[[Tensor], Tensor]] = {}
    given = list(inputs)
    for place, each in enumerate(inputs):
        if _is_sparse(each):
            given[place], makers[place] = _take_apart(each, masked)

    def compute(*arguments: Any) -> tuple[Any, ...]:
        points = [makers[place](each) if place in makers else each for place, each in enumerate(arguments)]
        found = to_tuple(func(*points))
        return tuple(each.to_dense(masked_grad=masked) if _is_sparse(each) else each for each in found)

    return compute, tuple(given)


class Directions:
    """Directions of an input's moves, and weights of an output.

    Without ``fast`` every element alone; with it all at once along one positive vector, for outputs and inputs alike: the
    Jacobian is compared by one number instead of whole.
    """

    def __init__(self, fast: bool) -> None:
        self._fast = fast

    def of(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """Return the vectors for a tensor, a row each."""
        count = tensor.numel()
        if not self._fast:
            return np.eye(count)
        vector = np.random.default_rng(count).uniform(0.1, 1.0, (1, count)) if count else np.zeros((1, 0))
        return vector / max(float(np.linalg.norm(vector)), 1e-12)

    def scale(self, tensor: Tensor, output: Tensor) -> float:
        """Return by how much an absolute tolerance for one element grows."""
        return float(self.of(tensor).sum() * self.of(output).sum()) if self._fast else 1.0


def _ways(tensor: Tensor) -> tuple[complex, ...]:
    return (1.0, 1j) if tensor.dtype.is_complex else (1.0,)


def numerical_jacobian(
    func: Callable[..., Any], inputs: Sequence[Any], place: int, eps: float, directions: Directions
) -> list[np.ndarray[Any, Any]]:
    """Return the derivatives of each output along an input's directions, a row each; a complex input has twice as many.

    The input itself is moved and put back: ``func`` may know it by identity, and whether it requires grad.
    """
    tensor = inputs[place]
    values, rows, data = _read(tensor).copy(), [], tensor.data
    weights: list[np.ndarray[Any, Any]] = []
    try:
        for way in _ways(tensor):
            for number, direction in enumerate(directions.of(tensor)):
                ends = []
                for sign in (-1, 1):
                    data.copy_(_from(values + sign * eps * way * direction, tensor))
                    found = outputs_of(func, inputs)
                    weights = weights or [directions.of(each) for each in found]
                    ends.append([(_read(each).copy(), each.shape, each.dtype) for each in found])
                slopes = [_slope(low, high, eps, number) for low, high in zip(*ends, strict=True)]
                rows.append([weight @ slope for weight, slope in zip(weights, slopes, strict=True)])
    finally:
        data.copy_(_from(values, tensor))
    count = len(rows[0]) if rows else len(outputs_of(func, inputs))
    return [np.array([row[output] for row in rows]) for output in range(count)]


def _slope(low: tuple[Any, ...], high: tuple[Any, ...], eps: float, number: int) -> np.ndarray[Any, Any]:
    for what, one, other in zip(("shape", "dtype"), low[1:], high[1:], strict=True):
        if one != other:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed on index {number}, "
                f"but got:\n {what}s {one} and {other}."
            )
    slope: np.ndarray[Any, Any] = (high[0] - low[0]) / (2 * eps)
    return slope


def _from(values: np.ndarray[Any, Any], like: Tensor) -> Tensor:
    made: Tensor = like.new_tensor(values.reshape(tuple(like.shape)))
    return made


def analytical_jacobian(
    outputs: Sequence[Tensor], targets: Sequence[Tensor], directions: Directions
) -> list[list[np.ndarray[Any, Any]]]:
    """Return the same from backward, by input and output: the derivative is the inner product with the gradient."""
    found: list[list[np.ndarray[Any, Any]]] = [[] for _ in targets]
    paths = [directions.of(each) for each in targets]
    for output in outputs:
        columns: list[list[np.ndarray[Any, Any]]] = [[] for _ in targets]
        for vector in directions.of(output):
            parts = [
                _pull(output, targets, paths, _from(vector * way, output))
                for way in ((1.0, 1j) if output.dtype.is_complex else (1.0,))
            ]
            for number, column in enumerate(columns):
                column.append(parts[0][number] + 1j * parts[1][number] if len(parts) > 1 else parts[0][number])
        for number, (target, column) in enumerate(zip(targets, columns, strict=True)):
            rows = len(paths[number]) * len(_ways(target))
            found[number].append(np.stack(column, 1) if column else np.zeros((rows, 0)))
    return found


def _pull(
    output: Tensor, targets: Sequence[Tensor], paths: list[np.ndarray[Any, Any]], weight: Tensor
) -> list[np.ndarray[Any, Any]]:
    """Return the derivatives of a weighted output along each input's directions."""
    results = []
    gradients: Sequence[Tensor | None] = (None,) * len(targets)
    if output.requires_grad:
        gradients = grad(output, targets, weight, retain_graph=True, allow_unused=True)
    for target, path, got in zip(targets, paths, gradients, strict=True):
        flat = np.zeros(target.numel(), complex if target.dtype.is_complex else float) if got is None else _read(got)
        # For a real function of the element and a direction d the derivative is Re(conj(gradient) d).
        results.append(np.concatenate([path @ flat.real, path @ flat.imag]) if target.dtype.is_complex else path @ flat)
    return results


def forward_jacobian(
    func: Callable[..., Any], inputs: Sequence[Any], place: int, directions: Directions
) -> list[np.ndarray[Any, Any]]:
    """Return the same from dual numbers."""
    tensor, rows = inputs[place], []
    for way in _ways(tensor):
        for direction in directions.of(tensor):
            with dual_level():
                dual = make_dual(tensor.detach(), _from(direction * way, tensor))
                given = [*inputs[:place], dual, *inputs[place + 1 :]]
                parts = [unpack_dual(each) for each in outputs_of(func, given)]
            rows.append(
                [
                    directions.of(primal) @ (np.zeros(primal.numel()) if tangent is None else _read(tangent))
                    for primal, tangent in parts
                ]
            )
    count = len(rows[0]) if rows else len(outputs_of(func, inputs))
    return [np.array([row[output] for row in rows]) for output in range(count)]
