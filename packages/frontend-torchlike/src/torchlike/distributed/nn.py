"""Communication between processes with gradients, which there is none of here (source: ``torch.distributed.nn``)."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Return the function of ``torchlike.distributed``, which refuses to be called."""
    from torchlike import distributed

    return getattr(distributed, name)
