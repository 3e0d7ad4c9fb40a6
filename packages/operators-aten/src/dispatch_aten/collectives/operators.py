"""The operators of the namespace ``dispatch``: processes of a group combine, gather and exchange arrays.

They are the same for every device. A group of one process needs no more than aten's operators. In a larger one the data goes
by the ``collectives`` of the device's interface, which sees row-major arrays of numbers in at least one dimension: truth
values go as int8, of which the greater is "or", complex numbers as pairs of floats, and the average is the sum, divided.

Note [Collectives in pipelines]
    A pipeline leaves out calls of which nothing is read, and each process may read something else; a collective that one
    process leaves out would never end in the others. So recorded calls run first, and then the collective, at once. A
    captured function runs as a whole, in each process: it records them, by the tag ``exchanges``, leaves none out and keeps
    their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.frontends import materialize, run_outside
from dispatch_core.runtime import note_write, run_at_once

from ..errors import OperatorError
from .batching import RULES, refuse
from .checks import (
    check_group,
    check_out,
    check_peer,
    check_rank,
    check_reduction,
    gathered_shape,
    scattered_shape,
)
from .counting import count
from .deferral import after
from .engine_calls import (
    EngineCalls,
    apply_at_once,
    as_dense,
    as_numbers,
    count_write,
    from_numbers,
    is_dense,
    reduce,
    wrap_as,
)
from .gradients import FORMULAS

__all__ = ["define"]

_SCHEMAS: Final = """
all_reduce(Tensor self, str op, Any group) -> Tensor
all_reduce_(Tensor(a!) self, str op, Any group) -> Tensor(a!)
all_gather(Tensor self, Any group) -> Tensor
all_gather.out(Tensor self, Any group, *, Tensor(a!) out) -> Tensor(a!)
reduce_scatter(Tensor self, str op, Any group) -> Tensor
reduce_scatter.out(Tensor self, str op, Any group, *, Tensor(a!) out) -> Tensor(a!)
broadcast(Tensor self, int root, Any group) -> Tensor
broadcast_(Tensor(a!) self, int root, Any group) -> Tensor(a!)
send(Tensor self, int rank, Any group) -> ()
recv_(Tensor(a!) self, int rank, Any group) -> Tensor(a!)
exchange(Tensor[] sends, int[] to_ranks, Tensor(a!)[] receives, int[] from_ranks, Any group) -> ()
"""
_aten: Final = dc.ops.aten


# ---- Kernels. They see the arguments of any caller, below autograd.


def _all_reduce(self: Any, op: str, group: Any) -> Any:
    group = check_group(group)
    check_reduction("all_reduce", op, dc.dtype(self))
    if group.size == 1:
        return _aten.clone(self)
    return apply_at_once("all_reduce", self, lambda x, _: reduce("all_reduce", group, x, op, dc.shape(x), None))


def _all_reduce_inplace(self: Any, op: str, group: Any) -> Any:
    group = check_group(group)
    check_reduction("all_reduce_", op, dc.dtype(self))
    if group.size == 1:
        return count_write(self)
    return apply_at_once(
        "all_reduce_", self, lambda x, into: reduce("all_reduce", group, x, op, dc.shape(x), into), into=self
    )


def _all_gather(self: Any, group: Any) -> Any:
    group = check_group(group)
    shape = gathered_shape(dc.shape(self), group.size)
    if group.size == 1:
        return _aten.view(_aten.clone(self), shape)
    return apply_at_once("all_gather", self, lambda x, _: EngineCalls(group, x).run("all_gather", x, shape=shape))


def _all_gather_out(self: Any, group: Any, *, out: Any) -> Any:
    group = check_group(group)
    shape = gathered_shape(dc.shape(self), group.size)
    check_out("all_gather", out, shape, dc.dtype(self))
    if group.size == 1:
        return _aten.copy_(out, _aten.reshape(self, list(dc.shape(out))))
    return apply_at_once(
        "all_gather", self, lambda x, into: EngineCalls(group, x).run("all_gather", x, shape=shape, into=into), into=out
    )


def _reduce_scatter(self: Any, op: str, group: Any) -> Any:
    group = check_group(group)
    check_reduction("reduce_scatter", op, dc.dtype(self))
    shape = scattered_shape(dc.shape(self), group.size)
    if group.size == 1:
        return _aten.clone(self)
    return apply_at_once("reduce_scatter", self, lambda x, _: reduce("reduce_scatter", group, x, op, shape, None))


def _reduce_scatter_out(self: Any, op: str, group: Any, *, out: Any) -> Any:
    group = check_group(group)
    check_reduction("reduce_scatter", op, dc.dtype(self))
    shape = scattered_shape(dc.shape(self), group.size)
    check_out("reduce_scatter", out, shape, dc.dtype(self))
    if group.size == 1:
        return _aten.copy_(out, _aten.reshape(self, list(dc.shape(out))))
    return apply_at_once(
        "reduce_scatter", self, lambda x, into: reduce("reduce_scatter", group, x, op, shape, into), into=out
    )


def _broadcast(self: Any, root: int, group: Any) -> Any:
    group = check_group(group)
    check_rank(group, root, "root")
    if group.size == 1:
        return _aten.clone(self)
    return apply_at_once(
        "broadcast", self, lambda x, _: EngineCalls(group, x).run("broadcast", x, root, shape=dc.shape(x))
    )


def _broadcast_inplace(self: Any, root: int, group: Any) -> Any:
    group = check_group(group)
    check_rank(group, root, "root")
    if group.size == 1:
        return count_write(self)
    return apply_at_once(
        "broadcast",
        self,
        lambda x, into: EngineCalls(group, x).run("broadcast", x, root, shape=dc.shape(x), into=into),
        into=self,
    )


def _send(self: Any, rank: int, group: Any) -> None:
    _exchange([self], [rank], [], [], group)


def _recv(self: Any, rank: int, group: Any) -> Any:
    _exchange([], [], [self], [rank], group)
    return self


def _exchange(
    sends: Sequence[Any], to_ranks: Sequence[int], receives: Sequence[Any], from_ranks: Sequence[int], group: Any
) -> None:
    group = check_group(group)
    if len(sends) != len(to_ranks) or len(receives) != len(from_ranks):
        raise OperatorError("exchange: each tensor has the rank that it goes to, or comes from")
    for rank in (*to_ranks, *from_ranks):
        check_peer(group, rank)
    if not sends and not receives:
        return
    count("exchange")
    with run_at_once("dispatch::exchange"):
        given = [materialize(each) for each in sends]
        taken = [materialize(each) for each in receives]
        first = EngineCalls(group, (*given, *taken)[0])
        if {dc.device(each) for each in (*given, *taken)} != {first.device}:
            raise OperatorError("exchange: all tensors lie on one device")
        dense = [as_dense(as_numbers(each)) for each in given]
        into = [
            each if is_dense(each) or not first.is_mutable else _aten.new_empty(each, dc.shape(each)) for each in taken
        ]
        numbers = [as_numbers(each) for each in into]
        returned = first.engine.exchange(
            first.connection,
            list(zip(dense, to_ranks, strict=True)),
            list(zip(numbers, from_ranks, strict=True)),
        )
        found = first.check_exchanged(returned, numbers)
        for array, made in zip(taken, into, strict=True):
            if made is not array:
                after(partial(_aten.copy_, as_numbers(array), as_numbers(made)))
        if not first.is_mutable:
            found = [from_numbers(each, dc.dtype(x), dc.shape(x)) for each, x in zip(found, taken, strict=True)]
    for tensor, array, each in zip(receives, taken, found, strict=True):
        if first.is_mutable:
            note_write(tensor)
        else:
            _aten.copy_(tensor, wrap_as(tensor, array, each))


_KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "all_reduce": _all_reduce,
    "all_reduce_": _all_reduce_inplace,
    "all_gather": _all_gather,
    "all_gather.out": _all_gather_out,
    "reduce_scatter": _reduce_scatter,
    "reduce_scatter.out": _reduce_scatter_out,
    "broadcast": _broadcast,
    "broadcast_": _broadcast_inplace,
    "send": _send,
    "recv_": _recv,
    "exchange": _exchange,
}


def _shape_of_reduced(self: Any, op: str, group: Any) -> Any:
    check_group(group)
    check_reduction("all_reduce", op, dc.dtype(self))
    return _aten.new_empty(self, list(dc.shape(self)))


def _shape_of_scattered(self: Any, op: str, group: Any) -> Any:
    group = check_group(group)
    check_reduction("reduce_scatter", op, dc.dtype(self))
    return _aten.new_empty(self, scattered_shape(dc.shape(self), group.size))


_FAKES: Final[dict[str, Callable[..., Any]]] = {
    "all_reduce": _shape_of_reduced,
    "all_reduce_": lambda self, op, group: self,
    "all_gather": lambda self, group: _aten.new_empty(self, gathered_shape(dc.shape(self), group.size)),
    "all_gather.out": lambda self, group, *, out: out,
    "reduce_scatter": _shape_of_scattered,
    "reduce_scatter.out": lambda self, op, group, *, out: out,
    "broadcast": lambda self, root, group: _aten.new_empty(self, list(dc.shape(self))),
    "broadcast_": lambda self, root, group: self,
    "send": lambda self, rank, group: None,
    "recv_": lambda self, rank, group: self,
    "exchange": lambda sends, to_ranks, receives, from_ranks, group: None,
}


def define() -> dc.Library:
    """Define the operators; return their library."""
    library = dc.Library("dispatch", "DEF")
    for schema in filter(None, _SCHEMAS.splitlines()):
        name = library.define(schema, tags="exchanges").partition("::")[2]
        library.impl(name, _KERNELS[name], "CompositeExplicitAutograd")
        dc.register_fake(f"dispatch::{name}", _FAKES[name], lib=library)
        if name in RULES:
            dc.register_vmap(f"dispatch::{name}", RULES[name], lib=library)
        else:
            library.impl(name, refuse(name), "FuncTorchBatched")
        if name in FORMULAS:
            backward, keep = FORMULAS[name]
            dc.register_autograd(f"dispatch::{name}", backward, setup_context=keep, lib=library)
    return library


LIBRARY: Final = run_outside(define)
