"""A hook that leaves gradients as they are (source: ``torch.distributed.algorithms.ddp_comm_hooks.debugging_hooks``)."""

from __future__ import annotations

from typing import Any

from ....names.lazy_names import call_late
from ... import GradBucket

__all__ = ["noop_hook"]

_make_future = call_late("torchlike.surface.futures", "Future")


def noop_hook(_: Any, bucket: GradBucket) -> Any:
    """Return a future of the bucket as it is, to see how long the rest of a step takes."""
    made: Any = _make_future()
    made.set_result(bucket.buffer())
    return made
