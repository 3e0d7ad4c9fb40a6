"""Operators that move elements: the same operator on the integers.

Note [Views of channels]
    A tensor whose channels have parameters of their own keeps them where a view leaves its dimension whole, or takes a part
    of it: the operator runs on a tensor of the scales that is spread over the whole, a view of few elements, and the one
    dimension of the result with a step is the new axis. Where no dimension has one the result has a single channel. Other
    operators are refused, as in torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import dispatch_core as dc
from dispatch_core import frontends

from ..tensors.tensor import Tensor
from .tensor import Quantized, become, is_quantized, record_of, with_integers, wrap_quantized


def refuse_channels() -> NoReturn:
    """Raise torch's error for an operation that channels do not outlast."""
    raise RuntimeError(
        "Setting strides is possible only on uniformly quantized tensor\n"
        "Hint: the tensor is quantized per channel; x.dequantize() has the numbers"
    )


def call(op: Any, values: tuple[Any, ...]) -> Any:
    """Run an operator with all its arguments in the order of the schema."""
    positional, named = frontends.call_signature(op).split(values)
    return op(*positional, **named)


def on_integers(op: Any, values: tuple[Any, ...], change: Callable[[Tensor], Tensor] | None = None) -> Any:
    """Return the result of an operator on the integers, as they are after ``change``."""

    def enter(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [enter(each) for each in value]
        if not is_quantized(value):
            return value
        integers = record_of(value).integers
        return integers if change is None else change(integers)

    return call(op, tuple(enter(each) for each in values))


def map_results(found: Any, dtype: Any, leave: Callable[[Tensor], Tensor]) -> Any:
    """Return results with those of a dtype, which are integers of a quantized tensor, made quantized."""
    if isinstance(found, (list, tuple)):
        made = [map_results(each, dtype, leave) for each in found]
        return type(found)(made) if type(found) in (list, tuple) else type(found)(*made)
    return leave(found) if isinstance(found, Tensor) and found.dtype is dtype else found


def move(op: Any, *values: Any) -> Any:
    """Move the integers of a tensor that is quantized as a whole; see Note [Views of channels] for another."""
    record = _first(values)
    if record.axis is not None:
        return move_channels(op, record, values)
    found = on_integers(op, values)
    return map_results(found, record.integers.dtype, lambda each: with_integers(record, each))


def move_whole(op: Any, *values: Any) -> Any:
    """Move the integers of a tensor that is quantized as a whole; another is refused."""
    record = _first(values)
    if record.axis is not None:
        refuse_channels()
    return move(op, *values)


def keep(op: Any, *values: Any) -> Any:
    """Return a tensor of the same sizes, with the parameters of the given one."""
    record = _first(values)
    found: Tensor = with_integers(record, on_integers(op, values))
    return found


def rearrange_integers(op: Any, self: Tensor, record: Quantized, found: Tensor) -> Tensor:
    """Return the tensor that an operator wrote to in place, or a new one of its integers."""
    return become(self, record) if found is record.integers else with_integers(record, found)


def rearrange(op: Any, self: Tensor, *rest: Any) -> Tensor:
    """Give a tensor another view of its integers, in place."""
    found = move(_FUNCTIONAL[op.packet.name.rpartition("::")[2]](), self, *rest)
    return become(self, record_of(found))


_FUNCTIONAL = {
    "transpose_": lambda: dc.ops.aten.transpose.int,
    "swapaxes_": lambda: dc.ops.aten.swapaxes.default,
    "swapdims_": lambda: dc.ops.aten.swapdims.default,
    "t_": lambda: dc.ops.aten.t.default,
    "unsqueeze_": lambda: dc.ops.aten.unsqueeze.default,
}


def squeeze_in_place(op: Any, self: Tensor, *rest: Any) -> Tensor:
    """Leave dimensions of one element out, in place."""
    packet = dc.ops.aten.squeeze
    found = move(getattr(packet, op.name.partition(".")[2] or "default"), self, *rest)
    return become(self, record_of(found))


def _first(values: Any) -> Quantized:
    for value in values:
        if isinstance(value, (list, tuple)):
            if any(map(is_quantized, value)):
                return _first(value)
        elif is_quantized(value):
            return record_of(value)
    raise AssertionError("no argument is quantized")


def move_channels(op: Any, record: Quantized, values: tuple[Any, ...]) -> Any:
    """Move the integers, and the parameters of their channels; see Note [Views of channels]."""
    integers = record.integers
    assert record.axis is not None
    shape = [-1 if dim == record.axis else 1 for dim in range(integers.dim())]
    found = on_integers(op, values)
    try:
        spread = [
            call(
                op,
                tuple(each.reshape(shape).expand(integers.shape) if is_quantized(value) else value for value in values),
            )
            for each in (record.scale, record.zero_point)
        ]
    except RuntimeError:
        refuse_channels()

    def leave(part: Any, scale: Any, zero_point: Any) -> Any:
        if isinstance(part, (list, tuple)):
            return type(part)([leave(*each) for each in zip(part, scale, zero_point, strict=True)])
        return _with_channels(record, part, scale, zero_point)

    return leave(found, *spread)


def _with_channels(record: Quantized, integers: Tensor, scale: Tensor, zero_point: Tensor) -> Tensor:
    along = [dim for dim, (size, step) in enumerate(zip(scale.shape, scale.stride(), strict=True)) if size > 1 and step]
    if len(along) > 1 or (along and scale.shape[along[0]] > record.scale.shape[0]):
        refuse_channels()
    if not along:
        if not scale.numel():
            refuse_channels()
        first = (0,) * scale.dim()
        point = zero_point[first].item()
        if zero_point.is_floating_point():
            axis = next((dim for dim, size in enumerate(scale.shape) if size == 1), None)
            if axis is None:
                refuse_channels()
            return wrap_quantized(integers, scale[first].reshape(1), zero_point[first].reshape(1), record.dtype, axis)
        return wrap_quantized(integers, scale[first].item(), int(point), record.dtype)
    index = tuple(slice(None) if dim == along[0] else 0 for dim in range(scale.dim()))
    return wrap_quantized(integers, scale[index].clone(), zero_point[index].clone(), record.dtype, along[0])
