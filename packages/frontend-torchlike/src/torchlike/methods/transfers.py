"""Copies between devices, and calls whose tensors lie on two of them."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.frontends import recording, refuse_mixed
from dispatch_core.keys import LAYOUTS
from dispatch_core.tracebacks import api_boundary

from ..autograd.function import Function
from ..tensors.tensor import Tensor


@dc.KernelTraits(is_traceable=True)
class _ToDevice(Function):
    """The copy between devices: no backend's kernel can do it alone, so the composite is called by its key."""

    @staticmethod
    def forward(tensor: Tensor, target: dc.Device, dtype: Any, non_blocking: bool = False) -> Tensor:
        source = tensor.detach()
        if non_blocking and recording() is None:
            made = _start_copy(source, target, dtype)
            if made is not None:
                return made
        return dc.call_direct("aten::_to_copy", "CompositeExplicitAutograd", source, device=target, dtype=dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.source, ctx.dtype, ctx.rest = inputs[0].device, inputs[0].dtype, len(inputs) - 1

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], tensor: Tensor, target: dc.Device, dtype: Any, non_blocking: bool = False
    ) -> tuple[Tensor, Any]:
        return move(tensor, target, dtype, non_blocking), in_dims[0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return grad.to(ctx.source, ctx.dtype), *[None] * ctx.rest


def _start_copy(source: Tensor, target: dc.Device, dtype: Any) -> Tensor | None:
    """Return a tensor on another device that may still be copied, of pinned memory or in it; None where that cannot be."""
    from ..device_modules.pinned_memory import download, upload  # few programs pin memory

    if source.is_cpu:
        return upload(source, target) if dtype in (None, source.dtype) else None
    return download(source if dtype is None else source.to(dtype)) if target.type == "cpu" else None


@api_boundary
def move(tensor: Tensor, target: dc.Device, dtype: Any = None, non_blocking: bool = False) -> Tensor:
    """Copy a tensor to another device; one of a layout by its own kernel.

    With ``non_blocking`` a pinned tensor may still be copied when this returns, where the device can do so; and so may one
    that comes to the cpu, which is pinned then.
    """
    if tensor._dispatch_mask & LAYOUTS:
        found: Tensor = dc.ops.aten._to_copy.default(tensor, device=target, dtype=dtype)
        return found
    return _ToDevice.apply(tensor, target, dtype, *([True] if non_blocking else ()))


#: Operators whose first tensor decides, because they copy the others or only read positions from them.
_COPIES: Final = frozenset({"aten::copy_", "aten::index.Tensor", "aten::index_put", "aten::index_put_"})

#: Operators that treat each tensor by itself, or look at the shape of another: the keys of their composites.
_APART: Final = {
    **dict.fromkeys(
        ("expand_as", "view_as", "reshape_as", "broadcast_tensors", *(f"atleast_{n}d.Sequence" for n in (1, 2, 3))),
        "CompositeImplicitAutograd",
    ),
    "is_same_size": "CompositeExplicitAutograd",
}

#: Operators → their arguments that are read on the host, and may be cpu tensors whatever the device of the others.
_READ: Final = {
    "aten::_pack_padded_sequence": {"lengths"},
    "aten::_pad_packed_sequence": {"batch_sizes"},
    **{f"aten::{kind}.data": {"batch_sizes"} for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
    "aten::ctc_loss.Tensor": {"input_lengths", "target_lengths"},
}


def call_mixed(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer a call whose tensors lie on two devices, of two types or of one (the boundary's hook).

    Copies go ahead, and so do cpu tensors without dimensions, which represent numbers, lengths that are read, and operators
    that treat each tensor by itself; anything else is refused as torch refuses it. Raises ``DeviceMismatchError``.
    """
    if (key := _APART.get(op.name.removeprefix("aten::"))) is not None:
        return dc.call_direct(op.name, key, *args, **kwargs)
    if op.name == "aten::type_as":
        return args[0].to(args[1])
    values = [*args, *kwargs.values()]
    if (read := _READ.get(op.name)) is not None:
        named = {**dict(zip((argument.name for argument in op.schema.arguments), args, strict=False)), **kwargs}
        rest = [tensor for name, value in named.items() if name not in read for tensor in _find_tensors(value)]
        lengths = [tensor for name in read for tensor in _find_tensors(named.get(name))]
        if len({str(tensor.device) for tensor in rest}) == 1 and all(tensor.is_cpu for tensor in lengths):
            keyset = dc.apply_masks(reduce(or_, (tensor._dispatch_mask for tensor in (*rest, *lengths))))
            return op.redispatch(keyset, *args, **kwargs)
    if op.name in _COPIES:
        first = args[0]
        if op.name == "aten::copy_":
            return _copy_between(op, first, args[1], *args[2:], **kwargs)
        moved = [_move_value(value, first.device) for value in args[1:]]
        if all(_is_copied_index(value) for value in args[1:]):
            return op(first, *moved, **kwargs)
    found = [tensor for value in values for tensor in _find_tensors(value)]
    others = {str(tensor.device) for tensor in found if not _is_number(tensor)}
    if len(others) == 1 and not op.schema.is_mutable:
        target = dc.Device.parse(others.pop())
        return op(
            *(_move_number(value, target) for value in args),
            **{name: _move_number(value, target) for name, value in kwargs.items()},
        )
    # The written tensor is the first argument, or passed by name, and stays where it is.
    written = [tensor for value in kwargs.values() for tensor in _find_tensors(value)]
    if (
        isinstance(args[0], Tensor)
        and not _is_number(args[0])
        and {str(args[0].device)} == others
        and all(tensor.device == args[0].device for tensor in written)
    ):
        return op(*(_move_number(value, args[0].device) for value in args), **kwargs)
    return refuse_mixed(op, args, kwargs)


def _copy_between(op: Any, target: Tensor, source: Tensor, non_blocking: bool = False) -> Any:
    """Copy to a tensor from one on a device of another type."""
    if non_blocking and target.is_cpu and recording() is None:
        from ..device_modules.pinned_memory import download_to  # few programs pin memory

        if download_to(target, source):
            return target
    return op(target, source.to(target.device, non_blocking=non_blocking and not target.is_cpu), non_blocking)


def _find_tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [item for item in value if isinstance(item, Tensor)] if isinstance(value, (list, tuple)) else []


def _is_number(tensor: Tensor) -> bool:
    return tensor.is_cpu and tensor.dim() == 0


def _is_copied_index(value: Any) -> bool:
    """Return whether an argument of an index operator may come from the cpu: a list of indices, or a value for it."""
    return (
        all(tensor.is_cpu for tensor in _find_tensors(value))
        if isinstance(value, (list, tuple))
        else (not isinstance(value, Tensor) or _is_number(value))
    )


def _move_value(value: Any, target: dc.Device) -> Any:
    if isinstance(value, Tensor):
        # Where it lies there, it may go on to wait.
        return value if value.device == target else value.to(target)
    return [_move_value(item, target) for item in value] if isinstance(value, (list, tuple)) else value


def _move_number(value: Any, target: dc.Device) -> Any:
    if isinstance(value, (list, tuple)):
        return [_move_number(item, target) for item in value]
    return value.to(target) if isinstance(value, Tensor) and _is_number(value) else value
