"""The error of checkpoints."""

from __future__ import annotations

__all__ = ["CheckpointException"]


class CheckpointException(RuntimeError):  # noqa: N818  # torch's name
    """A checkpoint that cannot be written or read (source: ``torch.distributed.checkpoint.CheckpointException``)."""


CheckpointException.__module__ = "torchlike.distributed.checkpoint"
