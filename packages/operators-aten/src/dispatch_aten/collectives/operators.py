"""The operators of the namespace ``dispatch``: processes of a group combine, gather and exchange arrays.

They are the same for every device. A group of one process needs no more than aten's operators. In a larger one the data goes
by the ``collectives`` of the device's interface, which sees row-major arrays of numbers in at least one dimension: truth
values go as int8, of which the greater is "or", complex numbers as pairs of floats, and the average is the sum, divided.

Note [Collectives are not recorded]
    A pipeline leaves out calls of which nothing is read, and each process may read something else; a collective that one
    process leaves out would never end in the others. So recorded calls run first, and then the collective, at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.frontends import materialize, run_outside
from dispatch_core.runtime import note_write, run_at_once

from ..dtypes import ScalarType
from ..errors import DtypeError, OperatorError
from .groups import ProcessGroup, connection_of

__all__ = ["REDUCTIONS", "define"]

REDUCTIONS: Final = ("sum", "avg", "product", "min", "max")
"""The ways to combine the arrays of the ranks."""

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


# ---- Checks, which touch nothing.


def _check_group(group: object) -> ProcessGroup:
    if not isinstance(group, ProcessGroup):
        raise OperatorError(f"expected a ProcessGroup as the group, not {type(group).__name__}")
    return group


def _check_rank(group: ProcessGroup, rank: int, what: str = "rank") -> None:
    if not 0 <= rank < group.size:
        raise OperatorError(f"there is no {what} {rank} in a group of {group.size}")


def _check_peer(group: ProcessGroup, rank: int) -> None:
    _check_rank(group, rank)
    if rank == group.rank:
        raise OperatorError(f"rank {rank} is this process itself; data is sent to another one")


def _check_reduction(name: str, op: str, dtype: ScalarType) -> None:
    if op not in REDUCTIONS:
        raise OperatorError(f"{name}: there is no reduction {op!r}", hint=f"choose from {', '.join(REDUCTIONS)}")
    if op == "avg" and not (dtype.is_floating_point or dtype.is_complex):
        raise DtypeError(f"{name}: the average of {dtype} is no {dtype}", hint="reduce by sum, and divide")
    if dtype.is_complex and op not in ("sum", "avg"):
        raise DtypeError(f"{name}: {op} does not take {dtype}", hint="sum and avg do")


def _scattered_shape(shape: Sequence[int], size: int) -> list[int]:
    if not shape or shape[0] % size:
        raise OperatorError(
            f"reduce_scatter: the first dimension of {list(shape)} has no {size} equal parts",
            hint="pad it to a multiple of the number of ranks",
        )
    return [shape[0] // size, *shape[1:]]


def _gathered_shape(shape: Sequence[int], size: int) -> list[int]:
    return [size * shape[0], *shape[1:]] if shape else [size]


# ---- Arrays as an engine takes them.


def _is_dense(array: Any) -> bool:
    if not dc.has_strides(array) or not prod(dc.shape(array)):
        return True
    step = 1
    for length, stride in zip(reversed(dc.shape(array)), reversed(dc.strides(array)), strict=True):
        if length != 1 and stride != step:
            return False
        step *= length
    return True


def _as_numbers(array: Any) -> Any:
    """Return an array of numbers in at least one dimension: a view of the same memory, where there is any."""
    if not dc.shape(array):
        array = _aten.view(array, [1])
    dtype = dc.dtype(array)
    if dtype is ScalarType.Bool:
        return _aten.view.dtype(array, ScalarType.Char)
    return _aten.view_as_real(array) if dtype.is_complex else array


def _from_numbers(array: Any, dtype: ScalarType, shape: Sequence[int]) -> Any:
    if dtype is ScalarType.Bool:
        array = _aten.view.dtype(array, dtype)
    elif dtype.is_complex:
        array = _aten.view_as_complex(array)
    return _aten.view(array, list(shape))


class _Exchange:
    """The calls of an engine for one array: what it is given, and what becomes of its result."""

    def __init__(self, group: ProcessGroup, array: Any) -> None:
        self.device = dc.device(array)
        self.engine, self.connection = connection_of(group, self.device)
        self.is_mutable = dc.is_mutable(array)
        self.dtype = dc.dtype(array)

    def run(self, name: str, array: Any, *how: object, shape: Sequence[int], into: Any = None) -> Any:
        """Call the engine, which makes an array of a shape; return it, or ``into`` with its elements."""
        given, result = _as_dense(_as_numbers(array)), None
        if self.is_mutable:
            fits = into is not None and _is_dense(into)
            result = _aten.view(into, list(shape)) if fits else _aten.new_empty(array, list(shape))
        numbers = None if result is None else _as_numbers(result)
        found = getattr(self.engine, name)(self.connection, given, *how, numbers)
        if result is None:
            return _from_numbers(found, self.dtype, shape)
        if into is None:
            return result
        if not _is_dense(into):
            _aten.copy_(_as_numbers(into), _as_numbers(_aten.view(result, list(dc.shape(into)))))
        return into


def _as_dense(array: Any) -> Any:
    return array if _is_dense(array) else _aten.clone(array, memory_format=0)


def _reduction_of(op: str, dtype: ScalarType) -> str:
    """Return the reduction that an engine is asked for."""
    if dtype is ScalarType.Bool:
        return {"sum": "max", "product": "min"}.get(op, op)
    return "sum" if op == "avg" else op


def _reduce(name: str, group: ProcessGroup, array: Any, op: str, shape: Sequence[int], into: Any) -> Any:
    exchange = _Exchange(group, array)
    found = exchange.run(name, array, _reduction_of(op, exchange.dtype), shape=shape, into=into)
    if op != "avg":
        return found
    if not exchange.is_mutable:
        return _aten.div(found, group.size)
    _aten.div_(_as_numbers(found), group.size)
    return found


def _apply(name: str, tensor: Any, function: Callable[[Any, Any], Any], into: Any = None) -> Any:
    """Call a function with the array of a tensor, and that of one that it writes to; return its result as such a tensor.

    The call is not recorded, see Note [Collectives are not recorded]. Where arrays cannot be written to, the function makes
    a new one, which the tensor gets.
    """
    with run_at_once(f"dispatch::{name}"):
        array = materialize(tensor)
        target = None if into is None else materialize(into)
        if target is not None and dc.device(target) != dc.device(array):
            raise OperatorError(
                f"{name}: the result is on {dc.device(target)}, and what is exchanged on {dc.device(array)}"
            )
        found = function(array, target if target is not None and dc.is_mutable(target) else None)
    if into is None:
        return _wrap(tensor, array, found)
    if not dc.is_mutable(target):
        found = _aten.view(found, list(dc.shape(into)))
        return _aten.copy_(into, _wrap(into, target, found))
    return _count_write(into)


def _count_write(tensor: Any) -> Any:
    note_write(tensor)
    return tensor


def _wrap(tensor: Any, array: Any, found: Any) -> Any:
    """Return an array as a tensor, where the caller's is one."""
    return found if tensor is array else dc.wrap_like(tensor, found)


# ---- Kernels. They see the arguments of any caller, below autograd.


def _all_reduce(self: Any, op: str, group: Any) -> Any:
    group = _check_group(group)
    _check_reduction("all_reduce", op, dc.dtype(self))
    if group.size == 1:
        return _aten.clone(self)
    return _apply("all_reduce", self, lambda x, _: _reduce("all_reduce", group, x, op, dc.shape(x), None))


def _all_reduce_inplace(self: Any, op: str, group: Any) -> Any:
    group = _check_group(group)
    _check_reduction("all_reduce_", op, dc.dtype(self))
    if group.size == 1:
        return _count_write(self)
    return _apply(
        "all_reduce_", self, lambda x, into: _reduce("all_reduce", group, x, op, dc.shape(x), into), into=self
    )


def _all_gather(self: Any, group: Any) -> Any:
    group = _check_group(group)
    shape = _gathered_shape(dc.shape(self), group.size)
    if group.size == 1:
        return _aten.view(_aten.clone(self), shape)
    return _apply("all_gather", self, lambda x, _: _Exchange(group, x).run("all_gather", x, shape=shape))


def _check_out(name: str, out: Any, shape: Sequence[int], dtype: object) -> None:
    if prod(dc.shape(out)) != prod(shape) or dc.dtype(out) is not dtype:
        raise OperatorError(
            f"{name}: expected {list(shape)} of {dtype} to write to, not {list(dc.shape(out))} of {dc.dtype(out)}"
        )


def _all_gather_out(self: Any, group: Any, *, out: Any) -> Any:
    group = _check_group(group)
    shape = _gathered_shape(dc.shape(self), group.size)
    _check_out("all_gather", out, shape, dc.dtype(self))
    if group.size == 1:
        return _aten.copy_(out, _aten.reshape(self, list(dc.shape(out))))
    return _apply(
        "all_gather", self, lambda x, into: _Exchange(group, x).run("all_gather", x, shape=shape, into=into), into=out
    )


def _reduce_scatter(self: Any, op: str, group: Any) -> Any:
    group = _check_group(group)
    _check_reduction("reduce_scatter", op, dc.dtype(self))
    shape = _scattered_shape(dc.shape(self), group.size)
    if group.size == 1:
        return _aten.clone(self)
    return _apply("reduce_scatter", self, lambda x, _: _reduce("reduce_scatter", group, x, op, shape, None))


def _reduce_scatter_out(self: Any, op: str, group: Any, *, out: Any) -> Any:
    group = _check_group(group)
    _check_reduction("reduce_scatter", op, dc.dtype(self))
    shape = _scattered_shape(dc.shape(self), group.size)
    _check_out("reduce_scatter", out, shape, dc.dtype(self))
    if group.size == 1:
        return _aten.copy_(out, _aten.reshape(self, list(dc.shape(out))))
    return _apply(
        "reduce_scatter", self, lambda x, into: _reduce("reduce_scatter", group, x, op, shape, into), into=out
    )


def _broadcast(self: Any, root: int, group: Any) -> Any:
    group = _check_group(group)
    _check_rank(group, root, "root")
    if group.size == 1:
        return _aten.clone(self)
    return _apply("broadcast", self, lambda x, _: _Exchange(group, x).run("broadcast", x, root, shape=dc.shape(x)))


def _broadcast_inplace(self: Any, root: int, group: Any) -> Any:
    group = _check_group(group)
    _check_rank(group, root, "root")
    if group.size == 1:
        return _count_write(self)
    return _apply(
        "broadcast",
        self,
        lambda x, into: _Exchange(group, x).run("broadcast", x, root, shape=dc.shape(x), into=into),
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
    group = _check_group(group)
    if len(sends) != len(to_ranks) or len(receives) != len(from_ranks):
        raise OperatorError("exchange: each tensor has the rank that it goes to, or comes from")
    for rank in (*to_ranks, *from_ranks):
        _check_peer(group, rank)
    if not sends and not receives:
        return
    with run_at_once("dispatch::exchange"):
        given = [materialize(each) for each in sends]
        taken = [materialize(each) for each in receives]
        first = _Exchange(group, (*given, *taken)[0])
        if {dc.device(each) for each in (*given, *taken)} != {first.device}:
            raise OperatorError("exchange: all tensors lie on one device")
        dense = [_as_dense(_as_numbers(each)) for each in given]
        into = [
            each if _is_dense(each) or not first.is_mutable else _aten.new_empty(each, dc.shape(each)) for each in taken
        ]
        found = first.engine.exchange(
            first.connection,
            list(zip(dense, to_ranks, strict=True)),
            [(_as_numbers(each), rank) for each, rank in zip(into, from_ranks, strict=True)],
        )
        for array, made in zip(taken, into, strict=True):
            if made is not array:
                _aten.copy_(_as_numbers(array), _as_numbers(made))
        if not first.is_mutable:
            found = [_from_numbers(each, dc.dtype(x), dc.shape(x)) for each, x in zip(found, taken, strict=True)]
    for tensor, array, each in zip(receives, taken, found, strict=True):
        if first.is_mutable:
            note_write(tensor)
        else:
            _aten.copy_(tensor, _wrap(tensor, array, each))


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


# ---- Shapes, of arrays without data.


def _shape_of_reduced(self: Any, op: str, group: Any) -> Any:
    _check_group(group)
    _check_reduction("all_reduce", op, dc.dtype(self))
    return _aten.new_empty(self, list(dc.shape(self)))


def _shape_of_scattered(self: Any, op: str, group: Any) -> Any:
    group = _check_group(group)
    _check_reduction("reduce_scatter", op, dc.dtype(self))
    return _aten.new_empty(self, _scattered_shape(dc.shape(self), group.size))


_FAKES: Final[dict[str, Callable[..., Any]]] = {
    "all_reduce": _shape_of_reduced,
    "all_reduce_": lambda self, op, group: self,
    "all_gather": lambda self, group: _aten.new_empty(self, _gathered_shape(dc.shape(self), group.size)),
    "all_gather.out": lambda self, group, *, out: out,
    "reduce_scatter": _shape_of_scattered,
    "reduce_scatter.out": lambda self, op, group, *, out: out,
    "broadcast": lambda self, root, group: _aten.new_empty(self, list(dc.shape(self))),
    "broadcast_": lambda self, root, group: self,
    "send": lambda self, rank, group: None,
    "recv_": lambda self, rank, group: self,
    "exchange": lambda sends, to_ranks, receives, from_ranks, group: None,
}


# ---- Derivatives.


def _backward_of_all_reduce(ctx: Any, grad: Any) -> tuple[Any, None, None]:
    if ctx.op not in ("sum", "avg"):
        raise OperatorError(f"all_reduce: {ctx.op} has no derivative here", hint="sum and avg do")
    return dc.ops.dispatch.all_reduce(grad, ctx.op, ctx.group), None, None


def _backward_of_all_gather(ctx: Any, grad: Any) -> tuple[Any, None]:
    found = dc.ops.dispatch.reduce_scatter(grad, "sum", ctx.group)
    return _aten.view(found, ctx.shape), None


def _backward_of_reduce_scatter(ctx: Any, grad: Any) -> tuple[Any, None, None]:
    if ctx.op not in ("sum", "avg"):
        raise OperatorError(f"reduce_scatter: {ctx.op} has no derivative here", hint="sum and avg do")
    found = dc.ops.dispatch.all_gather(grad, ctx.group)
    return (_aten.div(found, ctx.group.size) if ctx.op == "avg" else found), None, None


def _backward_of_broadcast(ctx: Any, grad: Any) -> tuple[Any, None, None]:
    found = dc.ops.dispatch.all_reduce(grad, "sum", ctx.group)
    return (found if ctx.group.rank == ctx.root else _aten.zeros_like(found)), None, None


def _keep_reduction(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, ctx.op, ctx.group = inputs


def _keep_shape(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.shape, ctx.group = list(dc.shape(inputs[0])), inputs[1]


def _keep_root(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, ctx.root, ctx.group = inputs


_FORMULAS: Final[dict[str, tuple[Callable[..., Any], Callable[..., None]]]] = {
    "all_reduce": (_backward_of_all_reduce, _keep_reduction),
    "all_gather": (_backward_of_all_gather, _keep_shape),
    "reduce_scatter": (_backward_of_reduce_scatter, _keep_reduction),
    "broadcast": (_backward_of_broadcast, _keep_root),
}


def define() -> dc.Library:
    """Define the operators; return their library."""
    library = dc.Library("dispatch", "DEF")
    for schema in filter(None, _SCHEMAS.splitlines()):
        name = library.define(schema).partition("::")[2]
        library.impl(name, _KERNELS[name], "CompositeExplicitAutograd")
        dc.register_fake(f"dispatch::{name}", _FAKES[name], lib=library)
        if name in _FORMULAS:
            backward, keep = _FORMULAS[name]
            dc.register_autograd(f"dispatch::{name}", backward, setup_context=keep, lib=library)
    return library


LIBRARY: Final = run_outside(define)
