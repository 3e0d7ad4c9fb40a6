"""States between processes: tensors on a mesh are gathered, and whole ones laid as those of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torchlike

from ...tensors.tensor import Tensor
from ..collectives import broadcast
from ..objects import broadcast_object_list
from ..process_groups import get_rank, is_group
from ..tensor.dtensor import DTensor, distribute_tensor

__all__ = ["broadcast_from_first", "gather", "spread"]


class _Whole(NamedTuple):
    """A tensor that process 0 has."""

    shape: tuple[int, ...]
    dtype: Any


def gather(state: dict[str, Any], *, full: bool, to_host: bool) -> dict[str, Any]:
    """Return a state with whole tensors, with copies on the host, or both: process 0 alone has those, others nothing."""

    def take(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        is_placed = full and isinstance(value, DTensor)
        found: Any = value.full_tensor() if is_placed else value  # type: ignore[attr-defined]  # DTensor's
        return found.detach().to("cpu", copy=not is_placed) if to_host and is_kept else found

    is_kept = not (full and to_host and is_group() and get_rank())
    made = _each(state, take)
    return made if is_kept else {}


def spread(state: Any, own: Any) -> Any:
    """Return a state of whole tensors, which lie as those of the other state then."""
    if isinstance(state, Mapping):
        return {key: spread(value, own.get(key) if isinstance(own, Mapping) else None) for key, value in state.items()}
    if isinstance(own, DTensor) and isinstance(state, Tensor) and not isinstance(state, DTensor):
        mesh, placements = own.device_mesh, own.placements  # type: ignore[attr-defined]
        return distribute_tensor(state, mesh, placements, src_data_rank=None)
    return state


def broadcast_from_first(state: Any, own: Any) -> Any:
    """Return process 0's state in all processes; its tensors lie on the device of the other state's then."""
    if not is_group():
        return state
    device = next((each.device.type for each in _tensors(own) if not each.is_meta), "cpu")
    sent: list[Any] = []

    def describe(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        sent.append(value.detach().to(device).contiguous())
        return _Whole(tuple(value.shape), value.dtype)

    told = [_each(state, describe) if get_rank() == 0 else None]
    broadcast_object_list(told, 0)
    waiting = iter(sent)

    def receive(value: Any) -> Any:
        if not isinstance(value, _Whole):
            return value
        tensor = next(waiting) if get_rank() == 0 else torchlike.empty(value.shape, dtype=value.dtype, device=device)
        broadcast(tensor, 0)
        return tensor

    return _each(told[0], receive)


def _each(value: Any, function: Callable[[Any], Any]) -> Any:
    """Return mappings and lists with what a function makes of their parts."""
    if isinstance(value, Mapping):
        return {key: _each(each, function) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_each(each, function) for each in value)
    return function(value)


def _tensors(value: Any) -> list[Any]:
    found: list[Any] = []
    _each(value, lambda each: found.append(each) if isinstance(each, Tensor) else None)
    return found
