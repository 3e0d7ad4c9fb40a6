"""Gradients that processes average while ``backward`` goes on, in buckets.

Note [Order of buckets]
    All processes start the sums of buckets in one order, that of the parameters from the last one on, in which backward
    mostly finds gradients: a bucket that is complete before an earlier one waits for it.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ...autograd.engine import queue_callback
from ...history.grad_mode import is_grad_enabled, no_grad
from ...names.lazy_names import call_late
from ...tensors.tensor import Tensor
from ..modules.module import Module
from ..modules.sparse import Embedding, EmbeddingBag
from .buckets import Bucket, GradBucket, fill, group_alike

__all__ = ["GradientSums", "find_device_type", "find_process_group"]

#: Groups stand above networks, and most of these need none.
all_reduce = call_late("torchlike.distributed.collectives", "all_reduce")
broadcast = call_late("torchlike.distributed.collectives", "broadcast")
sum_sparse = call_late("torchlike.distributed.sparse_sums", "sum_sparse")
find_group = call_late("torchlike.distributed.process_groups", "find_group")
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
        has_views: bool = False,
    ) -> None:
        self.group, self.syncs = group, True
        self._state = [each for name, each in module.named_parameters() if name not in ignored]
        self._buffers = [each for name, each in module.named_buffers() if name not in ignored]
        self._names = {id(each): name for name, each in module.named_parameters() if name not in ignored}
        self.allows_unused, self._broadcasts = allows_unused, broadcasts_buffers
        self._is_pending = self._is_queued = self.has_run = False
        self._buckets = fill(
            [each for each in self._state if each.requires_grad],
            bucket_cap_mb,
            _find_sparse(module),
            has_views=has_views,
        )
        self._place = {id(each): bucket for bucket in self._buckets for each in bucket.parameters}
        #: What waits for the sums that have begun, and the parameters that had gradients since the last ones.
        self._begun: list[Callable[[set[int]], None]] = []
        self._used = set[int]()
        self._syncs_buffers = broadcasts_buffers
        #: What the program combines gradients by, instead of the average, and the number that the sum is divided by.
        self.hook: Callable[[GradBucket], Any] | None = None
        self.divisor = group.size
        note = _call_weakly(self._note)
        for bucket in self._buckets:
            for each in bucket.parameters:
                each.register_post_accumulate_grad_hook(note)

    def check_parameters(self) -> None:
        """Raise ``RuntimeError`` unless all processes have parameters of the same shapes and dtypes."""
        own = [[self._names[id(each)], list(each.shape), str(each.dtype)] for each in self._state]
        told = [json.loads(each) for each in self.group.gather_bytes(_NAME, json.dumps(own).encode())]
        for rank, each in enumerate(told):
            if each != told[0]:
                other = next(
                    (pair for pair in zip(told[0], each, strict=False) if pair[0] != pair[1]),
                    (f"{len(told[0])} parameters", f"{len(each)} parameters"),
                )
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but rank 0 has {other[0]} and rank {rank} {other[1]}"
                )

    def broadcast_state(self, rank: int = 0) -> None:
        """Give all processes the parameters and buffers of a rank of the group."""
        self._broadcast([*self._state, *self._buffers], rank)

    def _broadcast(self, tensors: list[Any], rank: int) -> None:
        if self.group.size == 1:
            return
        with no_grad():
            for listed in group_alike(tensors):
                flat = _flatten([each.detach() for each in listed])
                broadcast(flat, group=self.group, group_src=rank)
                if self.group.rank != rank:
                    for each, part in zip(listed, flat.split([each.numel() for each in listed]), strict=True):
                        each.copy_(part.view(each.shape))

    @property
    def syncs_buffers(self) -> bool:
        """Whether the next call begins with the buffers."""
        return self._syncs_buffers and bool(self._buffers)

    def broadcast_buffers(self, rank: int = 0) -> None:
        """Give all processes the buffers of a rank of the group."""
        self._broadcast(self._buffers, rank)

    def before(self, rank: int = 0) -> None:
        """Give all processes the buffers of a rank. Raises ``RuntimeError`` where backward has left out parameters."""
        if is_grad_enabled() and self.syncs and self._is_pending and self._begun:
            missing = sorted(self._names[each] for bucket in self._buckets for each in bucket.waits_for)
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one: backward has found "
                f"no gradient for {', '.join(missing)}\nHint: find_unused_parameters=True allows it; or let all outputs of "
                "forward take part in the loss"
            )
        if self.syncs_buffers:
            self.broadcast_buffers(rank)

    def prepare_for_backward(self, outputs: Any) -> None:
        """Get ready to average in the next backward, after a ``forward`` that was not to be averaged."""
        self._reset()

    def _rebuild_buckets(self) -> None:
        """Leave the buckets as they are; libraries call this."""

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

    def shadow(self, *, is_synced: bool) -> None:
        """Take part in the sums of a backward of other processes, with gradients of zero."""
        self._syncs_buffers = self._broadcasts and is_synced
        if not is_synced:
            return
        with no_grad():
            for finish in [self._start(bucket, is_shadow=True) for bucket in self._buckets]:
                finish(set())
            if self.allows_unused:
                self._find_used()

    def _reset(self) -> None:
        self._is_pending, self._is_queued, self.has_run = True, False, True
        self._begun = []
        for bucket in self._buckets:
            bucket.waits_for = {id(each) for each in bucket.parameters}

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
        while len(self._begun) < len(self._buckets) and not self._buckets[len(self._begun)].waits_for:
            with no_grad():
                self._begun.append(self._start(self._buckets[len(self._begun)]))

    def _start(self, bucket: Bucket, *, is_shadow: bool = False) -> Callable[[set[int]], None]:
        """Start a bucket's sum; return the function that writes it to the gradients of the parameters in use."""
        if bucket.is_sparse:
            return self._start_sparse(bucket, is_shadow=is_shadow)
        flat = bucket.zeros() if is_shadow else bucket.gather()
        if self.hook is not None:
            index = self._buckets.index(bucket)
            given = GradBucket(index, index == len(self._buckets) - 1, flat, bucket.parameters)
            wait = _take_future(self.hook(given))
        else:
            work = all_reduce(flat.div_(self.divisor), "sum", self.group, async_op=True)

            def wait() -> Any:
                work.wait()
                return flat

        def finish(used: set[int]) -> None:
            found = wait()
            if not is_shadow:
                bucket.scatter(found, used)

        return finish

    def _start_sparse(self, bucket: Bucket, *, is_shadow: bool) -> Callable[[set[int]], None]:
        """Sum a sparse gradient."""
        parameter = bucket.parameters[0]
        own = None if is_shadow else parameter.grad
        found = sum_sparse(parameter.detach() if own is None else own, self.group, is_empty=own is None)

        def finish(used: set[int]) -> None:
            if not is_shadow and id(parameter) in used:
                parameter.grad = found / self.divisor

        return finish

    def _end(self) -> None:
        """Wait for the averages at the end of backward, and write them to the gradients."""
        self._is_queued = False
        if not self._is_pending:
            return
        if self.allows_unused:
            for bucket in self._buckets:
                bucket.waits_for.clear()
            self._send()
        elif len(self._begun) < len(self._buckets):
            with no_grad():
                for finish in self._begun:
                    finish(set())
            self._begun = self._begun or [_finish_nothing]  # the next call tells what is missing
            return
        used = self._find_used() if self.allows_unused else self._used
        with no_grad():
            for finish in self._begun:
                finish(used)
        self._begun, self._is_pending = [], False
        self._used.clear()

    def _find_used(self) -> set[int]:
        """Return the parameters that any process has used."""
        listed = [each for bucket in self._buckets for each in bucket.parameters]
        with no_grad():
            marks = listed[0].new_tensor([int(id(each) in self._used) for each in listed], dtype=ScalarType.Int)
            all_reduce(marks, "max", self.group)
        return {id(each) for each, mark in zip(listed, marks.tolist(), strict=True) if mark}


def _finish_nothing(_: set[int]) -> None:
    """Do nothing: no bucket was complete."""


def _call_weakly(method: Any) -> Callable[[Tensor], None]:
    """Return a function that calls a method for as long as its object is there."""
    found = weakref.WeakMethod(method)

    def call(parameter: Tensor) -> None:
        bound = found()
        if bound is not None:
            bound(parameter)

    return call


def _find_sparse(module: Module) -> set[int]:
    """Return the parameters whose gradients are sparse."""
    return {
        id(each)
        for one in module.modules()
        if isinstance(one, (Embedding, EmbeddingBag)) and one.sparse
        for each in one.parameters(recurse=False)
    }


def _take_future(found: Any) -> Callable[[], Any]:
    """Return a function that waits for the future of a hook. Raises ``RuntimeError`` for anything else."""
    if not hasattr(found, "wait"):
        raise RuntimeError(f"expected a torch.futures.Future of the communication hook, not {type(found).__name__}")

    def wait() -> Any:
        value = found.wait()
        return value[0] if isinstance(value, (list, tuple)) else value

    return wait


def _flatten(tensors: list[Any]) -> Any:
    return dc.ops.aten.cat([each.reshape(-1) for each in tensors], 0)


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
