"""`vmap`: a function of rows as a function of batches (source: ``torch.func.vmap``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from dispatch_core.tracebacks import api_boundary

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from ..values.pytree import TreeSpec, tree_flatten, tree_leaves, tree_structure, tree_unflatten
from ..values.pytree.walks import _broadcast_to_and_flatten as broadcast_to_leaves
from .randomness import check_randomness
from .stack import above
from .tensors import NESTED, refuse_layouts
from .vmap_level import VmapLevel


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that maps ``func`` over a dimension of its arguments, all rows at once.

    ``in_dims`` has the structure of the positional arguments, or that of their outer part: the dimension that is mapped,
    None for an argument that all rows share, as they share keyword arguments. ``out_dims`` says where the batch stands in
    the results. Random numbers are an error, "different" in each row or the "same". ``chunk_size`` rows are
    computed at a time, all by default. Raises ``ValueError`` for dimensions that do not fit the arguments or the results,
    and ``RuntimeError`` where the function asks for something that rows do not share: a number, or a part of varying size.

    >>> import torchlike
    >>> vmap(torchlike.dot)(torchlike.ones(2, 3), torchlike.ones(2, 3))
    tensor([3., 3.])
    >>> vmap(lambda x, y: x + y, in_dims=(1, None), out_dims=1)(torchlike.zeros(2, 3), torchlike.ones(2)).shape
    torchlike.Size([2, 3])
    """
    check_randomness(randomness)
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @wraps(func)
    @api_boundary
    def call(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(out_dims, func)
        size, dims, leaves, spec = _read_arguments(func, in_dims, args)

        def run(size: int, leaves: Sequence[Any]) -> Any:
            """Call the function once for all rows."""
            level = VmapLevel(size, randomness)
            entered = [leaf if dim is None else level.enter(leaf, dim) for leaf, dim in zip(leaves, dims, strict=True)]
            with above(level):
                result = func(*tree_unflatten(entered, spec), **kwargs)
            return _leave(func, level, result, out_dims)

        if chunk_size is None:
            return run(size, leaves)
        return _run_in_chunks(run, size, chunk_size, dims, leaves, out_dims, is_same=randomness == "same")

    return call


def name_of(func: Any) -> str:
    """Return a function's name, for errors."""
    if hasattr(func, "__name__"):
        return str(func.__name__)
    return f"functools.partial({name_of(func.func)}, ...)" if isinstance(func, partial) else repr(func)


def _read_arguments(func: Any, in_dims: Any, args: Any) -> tuple[int, list[int | None], list[Any], TreeSpec]:
    """Return the size of the batch, and the leaves of the arguments with the dimension of each."""
    who = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{who}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
            "over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = broadcast_to_leaves(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{who}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_structure(in_dims)} but inputs has structure {spec}."
        )
    for place, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(
                f"{who}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"{who}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over non-Tensor "
                "arguments, please use None as the respective in_dim"
            )
        rank = leaf.dim()
        if not -rank <= dim < rank:
            raise ValueError(
                f"{who}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {rank} so expected "
                f"in_dim to satisfy -{rank} <= in_dim < {rank}."
            )
        dims[place] = dim % rank
        if dims[place] and leaf._dispatch_mask & NESTED:
            raise RuntimeError(f"Nested tensors can only be vmapped over dim=0, but got dim={dims[place]}")
    sizes = [leaf.size(dim) for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    return _check_sizes(sizes), dims, leaves, spec


def _check_sizes(sizes: list[int]) -> int:
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
            "dimension"
        )
    return sizes[0]


def _leave(func: Any, level: VmapLevel, result: Any, out_dims: Any) -> Any:
    """Return the results with the batch where ``out_dims`` says."""
    name = name_of(func)
    leaves, spec = tree_flatten(result)
    dims: Any = broadcast_to_leaves(out_dims, spec)
    if isinstance(result, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        dims = list(out_dims)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`."
            f" out_dims has structure {tree_structure(out_dims)} but outputs has structure {spec}."
        )
    left = []
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is None:
            if level.owns(leaf):
                raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
            left.append(leaf)
            continue
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(leaf)}. Did you mean to set "
                "out_dims= to None for output?"
            )
        refuse_layouts([leaf], level)
        left.append(level.leave(leaf, dim))
    return tree_unflatten(left, spec)


def _run_in_chunks(
    run: Callable[[int, Sequence[Any]], Any],
    size: int,
    chunk_size: int,
    dims: list[int | None],
    leaves: list[Any],
    out_dims: Any,
    *,
    is_same: bool,
) -> Any:
    """Run some rows at a time, and join the results; ``is_same`` says that all rows draw the same random numbers."""
    from .. import random

    ends = list(range(chunk_size, size, chunk_size))
    columns = [
        [leaf] * (len(ends) + 1) if dim is None else FUNCTIONS["tensor_split"](leaf, ends, dim=dim)
        for leaf, dim in zip(leaves, dims, strict=True)
    ]
    state = random.get_rng_state() if is_same else None
    chunks = []
    for row in zip(*columns, strict=True):
        if state is not None:
            random.set_rng_state(state)
        length = next(leaf.size(dim) for leaf, dim in zip(row, dims, strict=True) if dim is not None)
        chunks.append(tree_flatten(run(length, row)))
    made = chunks[0][1]
    places = broadcast_to_leaves(out_dims, made) or []
    joined = [
        parts[0] if dim is None else FUNCTIONS["cat"](parts, dim=dim)
        for parts, dim in zip(zip(*[found for found, _ in chunks], strict=True), places, strict=True)
    ]
    return tree_unflatten(joined, made)


def _check_out_dims(out_dims: Any, func: Any) -> None:
    for each in tree_leaves(out_dims):
        if each is not None and not isinstance(each, int):
            raise ValueError(
                f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection "
                "of ints representing where in the outputs the vmapped dimension should appear."
            )
