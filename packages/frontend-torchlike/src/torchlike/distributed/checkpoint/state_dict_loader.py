"""Reading a checkpoint, by torch's path (source: ``torch.distributed.checkpoint.state_dict_loader``)."""

from __future__ import annotations

from .reading import load

__all__ = ["load"]
