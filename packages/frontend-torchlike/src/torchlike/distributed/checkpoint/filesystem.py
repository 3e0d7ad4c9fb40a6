"""Folders that checkpoints are written to and read from (source: ``torch.distributed.checkpoint.filesystem``)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torchlike

from ...values.size import Size
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorProperties, TensorStorageMetadata
from .reading import read_index

__all__ = ["FileSystemReader", "FileSystemWriter"]


class FileSystemWriter:
    """A folder that a checkpoint is written to (source: ``torch.distributed.checkpoint.FileSystemWriter``)."""

    def __init__(self, path: str | os.PathLike[str], *args: Any, **kwargs: Any) -> None:
        self.path = Path(path)


class FileSystemReader:
    """A folder that a checkpoint is read from (source: ``torch.distributed.checkpoint.FileSystemReader``)."""

    def __init__(self, path: str | os.PathLike[str], *args: Any, **kwargs: Any) -> None:
        self.path = Path(path)

    def read_metadata(self) -> Metadata:
        """Return the contents of the checkpoint. Raises ``CheckpointException`` for a folder that is none."""
        index, values = read_index(self.path)
        found: dict[str, Any] = {name: BytesStorageMetadata() for name in values}
        for name, entry in index.items():
            chunks = [ChunkStorageMetadata(Size(each["start"]), Size(each["shape"])) for each in entry["parts"]]
            properties = TensorProperties(getattr(torchlike, entry["dtype"]))
            found[name] = TensorStorageMetadata(properties, Size(entry["shape"]), chunks)
        return Metadata(found)
