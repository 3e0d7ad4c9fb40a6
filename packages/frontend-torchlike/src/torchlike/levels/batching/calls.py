"""Calls under `vmap`: batched arguments, and the steps that every batching rule takes with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias, final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import DimensionError

aten: Final[Any] = dc.ops.aten


@final
class Batch:
    """A batched argument: a tensor whose dimension 0 is the batch.

    Its logical shape, the one that the function under `vmap` sees, is without that dimension.

    >>> import torchlike
    >>> Batch(torchlike.ones(3, 2))
    Batch(tensor([[1., 1.],
            [1., 1.],
            [1., 1.]]))
    """

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __repr__(self) -> str:
        return f"Batch({self.tensor!r})"


class _Facts:
    """What the schema of an overload says about its arguments."""

    __slots__ = ("by_place", "defaults", "names", "places", "tensors")

    def __init__(self, op: Any) -> None:
        arguments = op.schema.arguments
        self.names = tuple(each.name for each in arguments)
        self.places = {name: place for place, name in enumerate(self.names)}
        self.defaults = {each.name: each.default for each in arguments if each.has_default}
        #: How many arguments are passed by place.
        self.by_place = sum(not each.kwarg_only for each in arguments)
        #: The arguments that are tensors, not those that are lists of them.
        self.tensors = tuple(each.argument.name for each in op.schema.tensor_arguments if "list" not in each.kind)


_facts_of: Final = cache(_Facts)


class BatchedCall:
    """One call of an operator: its arguments, in the schema's order, and the size of the batch."""

    __slots__ = ("facts", "given", "op", "size")

    def __init__(self, op: Any, size: int, given: list[Any]) -> None:
        self.op, self.size, self.given = op, size, given
        self.facts = _facts_of(op)

    def __getitem__(self, name: str) -> Any:
        return self.given[self.facts.places[name]]

    @property
    def values(self) -> dict[str, Any]:
        """The arguments by name."""
        return dict(zip(self.facts.names, self.given, strict=True))

    def rank(self, name: str) -> int:
        """Return the logical rank of a tensor."""
        value = self.given[self.facts.places[name]]
        rank: int = value.tensor.ndim - 1 if type(value) is Batch else value.ndim
        return rank

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the logical shape of a tensor."""
        return shape_of(self[name])

    def is_batched(self, name: str) -> bool:
        """Return whether an argument is batched."""
        return type(self[name]) is Batch

    def with_batch(self, name: str) -> Any:
        """Return a tensor with the batch in front; one that is not batched is expanded, without a copy."""
        value = self.given[self.facts.places[name]]
        return value.tensor if type(value) is Batch else with_batch(value, self.size)

    def tensors(self) -> list[str]:
        """Return the names of the arguments that are tensors, not those that are lists of them."""
        given, places = self.given, self.facts.places
        return [name for name in self.facts.tensors if given[places[name]] is not None]

    def run(self, /, **changed: Any) -> Any:
        """Call the operator on the level below, with other values of some arguments."""
        facts, given = self.facts, self.given.copy()
        for name, value in changed.items():
            given[facts.places[name]] = value
        by_place = facts.by_place
        if by_place == len(given):
            return self.op(*given)
        return self.op(*given[:by_place], **dict(zip(facts.names[by_place:], given[by_place:], strict=True)))


Rule: TypeAlias = Callable[[BatchedCall], Any]
"""A batching rule: the results of a call, each with the batch as its dimension 0."""


def bind(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return all arguments of a call in the schema's order."""
    facts = _facts_of(op)
    given = {**facts.defaults, **dict(zip(facts.names, args, strict=False)), **kwargs}
    return [given[name] for name in facts.names]


def overload(name: str) -> Any:
    """Return an overload of ``aten`` by its name.

    >>> overload("max.dim").overload_name, overload("relu").overload_name
    ('dim', 'default')
    """
    return dc.registry.get(f"aten::{name}").op


def rank_of(value: Any) -> int:
    """Return the logical rank of a batched or other tensor."""
    rank: int = value.tensor.ndim - 1 if type(value) is Batch else value.ndim
    return rank


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the logical shape of a batched or other tensor."""
    return tuple(value.tensor.shape[1:] if type(value) is Batch else value.shape)


def dtype_of(value: Any) -> ScalarType:
    """Return the dtype of a batched or other tensor."""
    found: ScalarType = (value.tensor if type(value) is Batch else value).dtype
    return found


def with_batch(value: Any, size: int) -> Any:
    """Return a tensor with the batch in front, expanded without a copy where there was none."""
    return value.tensor if type(value) is Batch else aten.expand.default(value, (size, *value.shape))


def align(value: Any, rank: int) -> Any:
    """Return a tensor that broadcasts with others of a logical rank.

    Dimensions of size 1 follow the batch; a tensor that is not batched broadcasts as it is.
    """
    if type(value) is not Batch:
        return value
    tensor = value.tensor
    missing = rank + 1 - tensor.ndim
    if missing <= 0:
        return tensor
    shape = tensor.shape
    return aten.view.default(tensor, (shape[0], *[1] * missing, *shape[1:]))


def wrap_dim(dim: int, rank: int) -> int:
    """Return the place of a logical dimension behind the batch.

    Raises ``DimensionError`` for one that a tensor of that rank does not have.

    >>> wrap_dim(-1, 3), wrap_dim(0, 3)
    (3, 1)
    """
    if -rank <= dim < rank:
        return dim % rank + 1
    if not rank:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions", argument="dim")
    raise DimensionError(
        f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})", argument="dim"
    )


def shift(dim: int, rank: int) -> int:
    """Do the same, for an operator to which a tensor without dimensions has one.

    >>> shift(-1, 0)
    1
    """
    return wrap_dim(dim, rank or 1)


def shift_all(dims: Any, rank: int) -> list[int]:
    """Return the places of logical dimensions behind the batch."""
    return [shift(dim, rank) for dim in ((dims,) if isinstance(dims, int) else dims)]


def map_results(result: Any, change: Callable[[Any], Any]) -> Any:
    """Return results with a function applied to each, where there are several."""
    return tuple(map(change, result)) if isinstance(result, tuple | list) else change(result)
