"""Writing a checkpoint, by torch's path (source: ``torch.distributed.checkpoint.state_dict_saver``)."""

from __future__ import annotations

from .writing import async_save, save

__all__ = ["async_save", "save"]
