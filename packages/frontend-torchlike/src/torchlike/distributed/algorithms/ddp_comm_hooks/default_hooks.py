"""Hooks that average gradients, some in numbers of 16 bits (source: ``...ddp_comm_hooks.default_hooks``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatch_aten.dtypes import ScalarType

from ... import GradBucket, all_reduce, get_world_size

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]


def _average(group: Any, tensor: Any) -> Any:
    """Return a future of the average of a tensor, in place."""
    work: Any = all_reduce(tensor.div_(get_world_size(group)), group=group, async_op=True)
    return work.get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Any:
    """Return a future of the average of a bucket: what `DistributedDataParallel` does without a hook."""
    return _average(process_group, bucket.buffer())


def _in(dtype: ScalarType, process_group: Any, bucket: GradBucket) -> Any:
    whole = bucket.buffer()

    def widen(done: Any) -> Any:
        return whole.copy_(done.value())

    return _average(process_group, whole.to(dtype)).then(widen)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Any:
    """Return a future of the average of a bucket, whose numbers are sent as float16."""
    return _in(ScalarType.Half, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Any:
    """Return a future of the average of a bucket, whose numbers are sent as bfloat16."""
    return _in(ScalarType.BFloat16, process_group, bucket)


def _wrap(hook: Callable[[Any, GradBucket], Any], dtype: ScalarType) -> Callable[[Any, GradBucket], Any]:
    def compress(hook_state: Any, bucket: GradBucket) -> Any:
        whole = bucket.buffer()
        bucket.set_buffer(whole.to(dtype))

        def widen(done: Any) -> Any:
            return whole.copy_(done.value())

        return hook(hook_state, bucket).then(widen)

    return compress


def fp16_compress_wrapper(hook: Callable[[Any, GradBucket], Any]) -> Callable[[Any, GradBucket], Any]:
    """Return a hook that gives another one the numbers of buckets as float16."""
    return _wrap(hook, ScalarType.Half)


def bf16_compress_wrapper(hook: Callable[[Any, GradBucket], Any]) -> Callable[[Any, GradBucket], Any]:
    """Return a hook that gives another one the numbers of buckets as bfloat16."""
    return _wrap(hook, ScalarType.BFloat16)
