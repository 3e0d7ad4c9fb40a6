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

from . import filesystem, metadata, state_dict, stateful
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .errors import CheckpointException
from .filesystem import FileSystemReader, FileSystemWriter
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from .planner import LoadPlanner, SavePlanner
from .reading import load
from .writing import async_save, save

__all__ = [
    "BytesStorageMetadata",
    "CheckpointException",
    "ChunkStorageMetadata",
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "FileSystemReader",
    "FileSystemWriter",
    "LoadPlanner",
    "Metadata",
    "SavePlanner",
    "TensorStorageMetadata",
    "async_save",
    "filesystem",
    "load",
    "metadata",
    "save",
    "state_dict",
    "stateful",
]
