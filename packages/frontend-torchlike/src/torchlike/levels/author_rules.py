"""Batching rules that an author brings: with a custom function, as its static method ``vmap``, or by ``register_vmap``.

A rule is called one level below, and says where the batch is in its results. An argument of the function that `vmap` maps
comes to it as the caller gave it, with the batch where ``in_dims`` says; any other batched tensor has it in front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import dispatch_core as dc
from dispatch_core.frontends import call_signature

from ..tensors.tensor import Tensor
from ..values.pytree import tree_flatten, tree_structure, tree_unflatten
from ..values.pytree.walks import _broadcast_to_and_flatten as broadcast_to_leaves
from .calls import tensors_of, wrap_result, written_tensors
from .stack import below, current_levels
from .tensors import Batched, note_write, wrap_value
from .vmap_level import BATCHED, VmapLevel

_LINK: Final = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """The `vmap` that a rule serves."""

    batch_size: int
    randomness: str


def run_rule(
    level: VmapLevel, rule: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], whose: str
) -> Any:
    """Return the results of a rule as tensors of a level; raises for results that do not say where the batch is.

    A tensor of the arguments that the rule returns represents the argument itself.
    """
    leaves, spec = tree_flatten(args)
    owned = [level.owns(each) for each in leaves]
    places = [
        level.in_dims.get(each._dispatch_data, 0) if is_own else None
        for each, is_own in zip(leaves, owned, strict=True)
    ]
    with below():
        inner = [_move_back(each, place) for each, place in zip(leaves, places, strict=True)]
        known = {id(value): leaf for value, leaf in zip(inner, leaves, strict=True) if isinstance(value, Tensor)}
        dims = tree_unflatten(places, spec)
        returned = rule(VmapInfo(level.size, level.randomness), dims, *tree_unflatten(inner, spec), **kwargs)
    if not isinstance(returned, tuple) or len(returned) != 2:
        got = f"Got a {type(returned)} instead" if not isinstance(returned, tuple) else f"Got {len(returned)} returns"
        raise RuntimeError(
            f"Expected the {whose} to have two returns, an output and out_dims with pytree structure compatible with the "
            f"output. {got}"
        )
    return wrap_outputs(level, *returned, whose, known)


def _move_back(value: Any, place: int | None) -> Any:
    """Return the tensor below a batched one with the batch at ``place``; anything else as it is."""
    if place is None:
        return value
    front = value._dispatch_data.value
    return front.movedim(0, place) if place else front


def wrap_outputs(level: VmapLevel, output: Any, out_dims: Any, whose: str, known: dict[int, Any] | None = None) -> Any:
    """Return results from below as tensors of a level, with the batch where ``out_dims`` says.

    ``known`` has tensors of the level that represent results, by the identity of the tensor below. Raises ``RuntimeError``
    where structures differ or a dimension has another size than the batch, ``TypeError`` for a non-dimension.
    """
    leaves, spec = tree_flatten(output)
    places = broadcast_to_leaves(out_dims, spec)
    if places is None:
        raise RuntimeError(
            f"The {whose} returned an incompatible (output, out_dims) tuple. Expected out_dims={out_dims} to be compatible "
            f"with the structure of `output`. out_dims has structure {tree_structure(out_dims)} but output has structure "
            f"{spec}. {_LINK}"
        )

    def wrap(leaf: Any, place: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        if known is not None and id(leaf) in known:
            return known[id(leaf)]
        return leaf if place is None else wrap_value(Batched, _to_front(level, leaf, place, whose), level)

    return tree_unflatten(map(wrap, leaves, places), spec)


def _to_front(level: VmapLevel, value: Tensor, place: Any, whose: str) -> Tensor:
    """Return a result with the batch in front."""
    if type(place) is not int:
        raise TypeError(f"The {whose} returned {place!r} in out_dims: an out_dim is an int or None")
    rank = value.dim()
    if not -rank <= place < rank:
        raise IndexError(f"The {whose} returned out_dim {place} for an output of shape {list(value.shape)}")
    with below():
        front = value if place == 0 else value.movedim(place, 0)
    if front.shape[0] != level.size:
        raise RuntimeError(
            f"The {whose} returned out_dim {place} for an output of shape {list(value.shape)}, whose size there is "
            f"{front.shape[0]}, but the batch has {level.size} rows\nHint: return None where all rows share the output"
        )
    return front


def make_kernel(op: Any, keyset: Any, rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel under ``FuncTorchBatched`` that runs an operator's rule for the level on top of the stack."""
    signature, below_key = call_signature(op), (keyset.mask | keyset.marker) & ~BATCHED.value

    def kernel(*args: Any, **kwargs: Any) -> Any:
        levels = current_levels()
        if not levels or not isinstance(level := levels[-1], VmapLevel):
            return op.redispatch(below_key, *args, **kwargs)  # the key was included without a level
        found = run_rule(level, rule, args, kwargs, f"vmap rule of {op.name}")
        values = (*args, *kwargs.values())
        for tensor in written_tensors(op, values):
            note_write(tensor)
        pairs = zip(signature.results, signature.unpack(found), strict=True)
        return signature.pack([_fit(op, level, result, each, values) for result, each in pairs])

    return kernel


def _fit(op: Any, level: VmapLevel, result: Any, found: Any, values: tuple[Any, ...]) -> Any:
    """Return one result as the schema says: a written argument itself, a view of an argument, or a fresh tensor."""
    if result.kind == "other":
        return found
    items = found if result.is_list and isinstance(found, (list, tuple)) else [found]
    wrong = next((each for each in items if not isinstance(each, Tensor) and each is not None), None)
    if wrong is not None or (found is None and not result.is_optional):
        raise dc.KernelResultError(
            f"{op.name}: its vmap rule returned {type(found).__name__} where the schema promises "
            f"{'a list of tensors' if result.is_list else 'a Tensor'}"
        )
    if result.kind == "fresh":
        _check_fresh(op, items, values)
    if result.kind == "fresh" or not all(map(level.owns, items)):
        return values[result.source] if result.kind == "self" else found
    inner = [each._dispatch_data.value for each in items]
    return wrap_result(result, op, Batched, level, inner if result.is_list else inner[0], values)


def _check_fresh(op: Any, items: Sequence[Any], values: tuple[Any, ...]) -> None:
    """Refuse results that share memory with an argument, where the schema promises fresh ones."""
    taken = {dc.storage_of(each) for each in tensors_of(op, values)}
    if any(each is not None and dc.storage_of(each) in taken for each in items):
        raise dc.KernelResultError(
            f"{op.name}: its vmap rule returned an argument, or a view of one, where the schema promises a Tensor of its "
            "own",
            hint="return a copy; or declare views, and arguments that are returned, in the schema",
        )
