"""The contents of a checkpoint (source: ``torch.distributed.checkpoint.metadata``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...values.size import Size

__all__ = ["BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "TensorProperties", "TensorStorageMetadata"]


@dataclass
class BytesStorageMetadata:
    """A value that is no tensor."""


@dataclass
class TensorProperties:
    """The dtype of a tensor."""

    dtype: Any


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor: where it begins, and its size."""

    offsets: Size
    sizes: Size


@dataclass
class TensorStorageMetadata:
    """A tensor: its dtype, its size, and the parts that files have of it."""

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class Metadata:
    """What is in a checkpoint, by the path in the state that was saved."""

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
