"""Gradients that processes average while ``backward`` goes on, in buckets.

Note [Order of buckets]
    All processes start the sums of buckets in one order, that of the parameters from the last one on, in which backward
    mostly finds gradients: a bucket that is complete before an earlier one waits for it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ...autograd.engine import queue_callback
from ...history.grad_mode import is_grad_enabled, no_grad
from ...names.lazy_names import call_late
from ...tensors.tensor import Tensor
from ..modules.module import Module

__all__ = ["GradientSums", "find_device_type", "find_process_group"]

#: Groups stand above networks, and most of these need none.
all_reduce = call_late("torchlike.distributed.collectives", "all_reduce")
broadcast = call_late("torchlike.distributed.collectives", "broadcast")
find_group = call_late("torchlike.distributed.process_groups", "find_group")
_MEBIBYTE: Final = 2**20
_NAME: Final = "DistributedDataParallel"


def find_process_group(process_group: Any, device_mesh: Any) -> Any:
    """Return a group, that of a mesh, or that of all processes. Raises ``RuntimeError`` for both."""
    if process_group is not None and device_mesh is not None:
        raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
    if device_mesh is not None:
        if device_mesh.ndim != 1:
            raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
        process_group = device_mesh.get_group(mesh_dim=0)
    return find_group(_NAME, process_group)


def find_device_type(module: Module, device_ids: Any, output_device: Any) -> str:
    """Return the type of the parameters' devices. Raises ``ValueError`` for several, and for ``device_ids`` on cpu."""
    needed = [each for each in module.parameters() if each.requires_grad]
    if not needed:
        raise RuntimeError(f"{_NAME} is not needed when a module doesn't have any parameters that require a gradient.")
    types = sorted({each.device.type for each in module.parameters()})
    if len(types) != 1:
        raise ValueError(
            f"{_NAME}'s input module must be on the same type of devices, but "
            f"input module parameters locate in {types}."
        )
    if (device_ids or output_device) and types == ["cpu"]:
        raise ValueError(
            f"{_NAME} device_ids and output_device arguments only work with single-device/multiple-device GPU modules or "
            f"CPU modules, but got device_ids {device_ids}, output_device {output_device}, "
            f"and module parameters {set(types)}."
        )
    return types[0]


@dataclass
class _Bucket:
    """Parameters whose gradients go together."""

    parameters: list[Tensor] = field(default_factory=list)
    waits_for: set[int] = field(default_factory=set)
    sent: Any = None
    work: Any = None


class GradientSums:
    """The buckets of a module's parameters in a group, and what a call does before and behind the module's own."""

    def __init__(
        self,
        module: Module,
        group: Any,
        ignored: Collection[str] = (),
        *,
        bucket_cap_mb: float = 25.0,
        allows_unused: bool = False,
        broadcasts_buffers: bool = True,
    ) -> None:
        self.group, self.syncs = group, True
        self._state = [each for name, each in module.named_parameters() if name not in ignored]
        self._buffers = [each for name, each in module.named_buffers() if name not in ignored]
        self._names = {id(each): name for name, each in module.named_parameters() if name not in ignored}
        self._allows_unused, self._broadcasts = allows_unused, broadcasts_buffers
        self._syncs_buffers = self._is_pending = self._is_queued = False
        self._buckets = _fill([each for each in self._state if each.requires_grad], bucket_cap_mb)
        self._place = {id(each): bucket for bucket in self._buckets for each in bucket.parameters}
        #: The number of buckets whose sums have begun, and the parameters that had gradients since the last sums.
        self._begun, self._used = 0, set[int]()
        self._syncs_buffers = broadcasts_buffers
        for bucket in self._buckets:
            for each in bucket.parameters:
                each.register_post_accumulate_grad_hook(self._note)

    def check_parameters(self) -> None:
        """Raise ``RuntimeError`` unless all processes have parameters of the same shapes and dtypes."""
        own = [[self._names[id(each)], list(each.shape), str(each.dtype)] for each in self._state]
        told = [json.loads(each) for each in self.group.gather(_NAME, json.dumps(own).encode())]
        for rank, each in enumerate(told):
            if each != told[0]:
                other = next(
                    (pair for pair in zip(told[0], each, strict=False) if pair[0] != pair[1]),
                    (f"{len(told[0])} parameters", f"{len(each)} parameters"),
                )
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but rank 0 has {other[0]} and rank {rank} {other[1]}"
                )

    def broadcast_state(self) -> None:
        """Give all processes rank 0's parameters and buffers."""
        self._broadcast([*self._state, *self._buffers])

    def _broadcast(self, tensors: list[Any]) -> None:
        if self.group.size == 1:
            return
        with no_grad():
            for listed in _group_alike(tensors):
                flat = _flatten([each.detach() for each in listed])
                broadcast(flat, group=self.group, group_src=0)
                for each, part in zip(listed, flat.split([each.numel() for each in listed]), strict=True):
                    each.copy_(part.view(each.shape))

    def before(self) -> None:
        """Give all processes the buffers. Raises ``RuntimeError`` where backward has left out parameters."""
        if is_grad_enabled() and self.syncs and self._is_pending and self._begun:
            missing = sorted(self._names[each] for bucket in self._buckets for each in bucket.waits_for)
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one: backward has found "
                f"no gradient for {', '.join(missing)}\nHint: find_unused_parameters=True allows it; or let all outputs of "
                "forward take part in the loss"
            )
        if self._syncs_buffers and self._buffers:
            self._broadcast(self._buffers)

    def after(self, outputs: Any) -> Any:
        """Get ready for backward; return the outputs."""
        is_synced = is_grad_enabled() and self.syncs
        self._syncs_buffers = self._broadcasts and is_synced
        if is_synced:
            self._reset()
            for each in _list_tensors(outputs):
                if each.requires_grad and each.grad_fn is not None:
                    each.register_hook(self._begin)
        return outputs

    def _reset(self) -> None:
        self._is_pending, self._is_queued, self._begun = True, False, 0
        for bucket in self._buckets:
            bucket.waits_for = {id(each) for each in bucket.parameters}
            bucket.work = bucket.sent = None

    def _begin(self, _: Any = None) -> None:
        if self._is_pending and not self._is_queued:
            self._is_queued = True
            queue_callback(self._end)

    def _note(self, parameter: Tensor) -> None:
        """Take a gradient that is complete."""
        self._used.add(id(parameter))
        if not self._is_pending or not self.syncs:
            return
        self._begin()
        self._place[id(parameter)].waits_for.discard(id(parameter))
        self._send()

    def _send(self) -> None:
        """Start the sums of the next buckets, see Note [Order of buckets]."""
        while self._begun < len(self._buckets) and not self._buckets[self._begun].waits_for:
            bucket = self._buckets[self._begun]
            self._begun += 1
            with no_grad():
                bucket.sent = _flatten([_gradient_of(each) for each in bucket.parameters])
            bucket.work = all_reduce(bucket.sent, "avg", self.group, async_op=True)

    def _end(self) -> None:
        """Wait for the averages at the end of backward, and write them to the gradients."""
        self._is_queued = False
        if not self._is_pending:
            return
        if self._allows_unused:
            for bucket in self._buckets:
                bucket.waits_for.clear()
            self._send()
        elif self._begun < len(self._buckets):
            self._begun = max(self._begun, 1)  # the next call tells what is missing
            for bucket in self._buckets:
                if bucket.work is not None:
                    bucket.work.wait()
            return
        used = self._find_used() if self._allows_unused else self._used
        with no_grad():
            for bucket in self._buckets:
                bucket.work.wait()
                sizes = [each.numel() for each in bucket.parameters]
                for each, part in zip(bucket.parameters, bucket.sent.split(sizes), strict=True):
                    if id(each) not in used:
                        continue  # no process has used it: its gradient stays as it was
                    if each.grad is None:
                        each.grad = part.view(each.shape).clone()
                    else:
                        each.grad.copy_(part.view(each.shape))
                bucket.sent = bucket.work = None
        self._is_pending = False
        self._used.clear()

    def _find_used(self) -> set[int]:
        """Return the parameters that any process has used."""
        listed = [each for bucket in self._buckets for each in bucket.parameters]
        with no_grad():
            marks = listed[0].new_tensor([int(id(each) in self._used) for each in listed], dtype=ScalarType.Int)
            all_reduce(marks, "max", self.group)
        return {id(each) for each, mark in zip(listed, marks.tolist(), strict=True) if mark}


def _gradient_of(parameter: Tensor) -> Any:
    found = parameter.grad
    if found is None:
        return parameter.new_zeros(parameter.shape)
    if found.layout != parameter.layout:
        raise NotImplementedError(f"{_NAME}: a gradient of layout {found.layout} is not averaged\nHint: sparse=False")
    return found


def _flatten(tensors: list[Any]) -> Any:
    return dc.ops.aten.cat([each.reshape(-1) for each in tensors], 0)


def _group_alike(tensors: list[Any]) -> Iterator[list[Any]]:
    """Yield lists of tensors with one dtype and device."""
    found: dict[Any, list[Any]] = {}
    for each in tensors:
        found.setdefault((each.dtype, each.device), []).append(each)
    yield from found.values()


def _fill(parameters: list[Tensor], cap: float) -> list[_Bucket]:
    """Return buckets for parameters from the last one on: the first is small, so that its sum begins early."""
    made: list[_Bucket] = []
    for alike in _group_alike(parameters[::-1]):
        limit, size = min(cap, 1.0) * _MEBIBYTE, 0.0
        made.append(_Bucket())
        for each in alike:
            if size >= limit and made[-1].parameters:
                made.append(_Bucket())
                limit, size = cap * _MEBIBYTE, 0.0
            made[-1].parameters.append(each)
            size += each.numel() * each.element_size()
    return made


def _list_tensors(value: Any) -> Iterator[Any]:
    """Yield the tensors in lists, tuples and mappings."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _list_tensors(each)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _list_tensors(each)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from _list_tensors(getattr(value, name))
