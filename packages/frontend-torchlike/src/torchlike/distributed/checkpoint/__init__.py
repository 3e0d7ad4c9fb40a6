"""Checkpoints that all processes write together, and read on another mesh (source: ``torch.distributed.checkpoint``).

>>> import tempfile, torchlike
>>> from torchlike.distributed import checkpoint
>>> net = torchlike.nn.Linear(2, 2)
>>> with tempfile.TemporaryDirectory() as folder:
...     checkpoint.save({"net": net.state_dict(), "epoch": 3}, checkpoint_id=f"{folder}/third")
...     state = {"net": torchlike.nn.Linear(2, 2).state_dict(), "epoch": 0}
...     checkpoint.load(state, checkpoint_id=f"{folder}/third")
>>> torchlike.equal(state["net"]["weight"], net.weight), state["epoch"]
(True, 3)
"""

from __future__ import annotations

from .errors import CheckpointException
from .reading import load
from .storage import FileSystemReader, FileSystemWriter
from .writing import async_save, save

__all__ = ["CheckpointException", "FileSystemReader", "FileSystemWriter", "async_save", "load", "save"]
