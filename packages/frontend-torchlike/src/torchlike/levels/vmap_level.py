"""The level of `vmap`: a call with batched tensors runs the operator's batching rule on the tensors below.

Note [How a call is batched]
    A call without batched tensors goes on below as it is. One that cannot be batched is refused before anything runs
    (`refusals`), random numbers go their own way (`randomness`), and of the ways that are left the first is taken: the
    operator's batching rule; its composite, whose parts arrive one by one; the operator run for each row (`loop`). The
    last serves composites, too, that read numbers to check them, or write rows into a tensor that they made for all, and
    calls with tensors of a layout whose kernels do not serve what a rule makes of them.

    A kernel that a program has registered under ``FuncTorchBatched``, a rule of the operator's author (`author_rules`) or
    another, takes the place of all of these, and answers for values and random numbers itself. It runs with the level on
    top.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Final
from weakref import WeakKeyDictionary

import dispatch_core as dc
from dispatch_core import frontends
from dispatch_core.caches import keep
from dispatch_core.keys import AUTOCAST, LAYOUTS

from ..tensors.tensor import Tensor, frontend
from .batching import Batch, find_rule_in_order
from .calls import bind_wrapping, call_in_order, shape_of, wrap_results, written_tensors
from .front import open_closed
from .loop import has_fresh_results, run_rows
from .randomness import run_random
from .refusals import NotBatchableError, check_call, check_writes, closed_error, may_refuse
from .stack import TransformLevel, below, run_below
from .tensors import Batched, LevelData, make_layout_error, note_write, stand_for

#: The key of the batching rules that a program registers.
BATCHED: Final = dc.DispatchKey.FuncTorchBatched
_DECOMPOSITION: Final = dc.DispatchKey.FuncTorchBatchedDecomposition
_COMPOSITE_KEYS: Final = (
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)


class VmapLevel(TransformLevel):
    """A level of `vmap`: the size of its batch, and the meaning of random numbers in it."""

    kind: ClassVar[str] = "vmap"

    def __init__(self, size: int, randomness: str) -> None:
        super().__init__()
        self.size, self.randomness = size, randomness
        #: The dimension of each argument that was the batch, where that is not 0, for rules that are told of it.
        self.in_dims: WeakKeyDictionary[LevelData, int] = WeakKeyDictionary()

    def open_closed(self, tensor: Any) -> Any:
        raise closed_error(tensor)

    def enter(self, value: Tensor, dim: int) -> Tensor:
        """Return the batched tensor of an argument whose dimension ``dim`` is the batch."""
        if dim == 0:
            return stand_for(Batched, value, self, is_captured=False)
        made = stand_for(Batched, value.movedim(dim, 0), self, is_captured=False)
        self.in_dims[made._dispatch_data] = dim
        return made

    def leave(self, value: Tensor, dim: int) -> Tensor:
        """Return a result with the batch as its dimension ``dim``; one that is the same for all rows is repeated."""
        front = value._dispatch_data.value if self.owns(value) else value.expand(self.size, *value.shape)
        return front if dim == 0 else front.movedim(0, dim)

    @classmethod
    def bind(cls, op: Any, keyset: Any, general: Any) -> Any:
        shape, way = shape_of(op), _find_way(op)
        rule: Any = way.rule
        composite: Any = way.composite
        if cls is not VmapLevel or way.is_registered or way.may_be_refused or shape.draws or shape.lists:
            return general
        if rule is None and (composite is None or keyset.mask & AUTOCAST or not has_fresh_results(op)):
            return general
        singles, wrap = shape.singles, bind_wrapping(op, Batched)

        def run(levels: Any, values: tuple[Any, ...]) -> Any:
            level, given = levels[-1], list(values)
            is_batched, mask = False, 0
            for index in singles:
                if (value := given[index]) is None:
                    continue
                data = getattr(value, "_dispatch_data", None)
                if isinstance(data, LevelData):
                    mask |= data.value._dispatch_mask
                    if data.level is level:
                        given[index], is_batched = Batch(data.value), True
                    elif data.level not in levels:
                        return run(levels, shape.map_tensors(open_closed, values))
                else:
                    mask |= getattr(value, "_dispatch_mask", 0)
            if mask & LAYOUTS:
                return general(levels, values)
            if not is_batched:
                return run_below(levels, shape.call, *values)
            if rule is None:
                try:
                    return composite(*values)
                except NotBatchableError:
                    return level.apply(op, _run_rows, values)
            return wrap(level, run_below(levels, rule, op, level.size, given), values)

        return run

    def call(self, keyset: Any, op: Any, values: tuple[Any, ...]) -> Any:
        shape = shape_of(op)
        tensors = shape.tensors_of(values)
        batched = self._owns_one(tensors)
        draws = shape.draws
        if not batched and not draws:
            for tensor in tensors:
                if getattr(tensor, "_dispatch_mask", 0) & LAYOUTS and any(
                    map(self.owns, frontends.components_of(tensor))
                ):
                    raise make_layout_error(tensor, "vmap has batched, which no rule of vmap takes")
            with below():
                return call_in_order(op, values)
        way = _find_way(op)
        if batched and way.is_registered:
            check_writes(op, values, self)
            return op.runner(BATCHED.value | frontend.marker)(*values)
        if way.may_be_refused:
            check_call(op, values, self)
        if draws and (found := run_random(op, values, self)) is not None:
            return found[0]
        rule: Any = way.rule
        composite = way.composite
        if composite is not None and keyset.mask & AUTOCAST and has_fresh_results(op):
            from ..amp.kernels import has_program_kernel  # loaded, as there are kernels under these keys

            if has_program_kernel(keyset, op):
                composite = None  # the casts of its author are of the whole operator
        try:
            if composite is not None:
                return composite(*values)
            if rule is not None:
                return self.apply(op, rule, values)
        except Exception as error:
            # The kernels of a layout may not serve what a rule or a composite makes of its tensors.
            is_refused = isinstance(error, NotImplementedError) and self._has_layouts(tensors)
            goes_on = is_refused or (composite is not None and isinstance(error, NotBatchableError))
            if not (goes_on and has_fresh_results(op)):
                raise
        return self.apply(op, _run_rows, values)

    def apply(self, op: Any, rule: Any, values: tuple[Any, ...]) -> Any:
        """Run a batching rule one level below, and return its results as tensors of the level.

        The rule takes the overload, the size of the batch, and all arguments in order.
        """
        shape = shape_of(op)
        marked = shape.map_tensors(self._mark, values)
        with below():
            found = rule(op, self.size, marked)
        if shape.writes:
            for tensor in written_tensors(op, values):
                note_write(tensor)
        return wrap_results(op, Batched, self, found, values)

    def _mark(self, tensor: Any) -> Any:
        data = getattr(tensor, "_dispatch_data", None)
        return Batch(data.value) if isinstance(data, LevelData) and data.level is self else tensor

    @staticmethod
    def _has_layouts(tensors: list[Any]) -> bool:
        """Return whether one of some tensors is of a layout, or has the rows of one."""
        mask = 0
        for tensor in tensors:
            data = getattr(tensor, "_dispatch_data", None)
            below = data.value if isinstance(data, LevelData) else tensor
            mask |= getattr(below, "_dispatch_mask", 0)
        return bool(mask & LAYOUTS)

    def _owns_one(self, tensors: list[Any]) -> bool:
        """Return whether one of some tensors is the level's."""
        for tensor in tensors:
            data = getattr(tensor, "_dispatch_data", None)
            if isinstance(data, LevelData) and data.level is self:
                return True
        return False


def _run_rows(op: Any, size: int, values: tuple[Any, ...]) -> Any:
    return run_rows(op, size, *shape_of(op).split(values))


class _Way:
    """The part of the choice that does not depend on a call's arguments: see Note [How a call is batched]."""

    __slots__ = ("composite", "generation", "is_registered", "may_be_refused", "rule")

    def __init__(self, op: Any) -> None:
        #: The number of the operator's registrations that this is for.
        self.generation = op.generation
        held = op.registrations(BATCHED) or op.registrations(_DECOMPOSITION)
        self.is_registered = bool(held) and not held[0].is_fallthrough
        self.may_be_refused = may_refuse(op)
        self.rule: Any = find_rule_in_order(op)
        self.composite = _find_composite(op) if self.rule is None else None


_WAYS: Final[dict[Any, _Way]] = {}
_KEPT: Final = 4096


def _find_way(op: Any) -> _Way:
    way = _WAYS.get(op)
    if way is None or way.generation != op.generation:
        _WAYS.pop(op, None)
        way = keep(_WAYS, op, _Way(op), _KEPT)
    return way


def _find_composite(op: Any) -> Any:
    """Return the composite of an operator, or None."""
    return next(filter(None, map(partial(frontends.find_composite, op), _COMPOSITE_KEYS)), None)
