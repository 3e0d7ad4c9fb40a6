"""Names for the annotations of programs (source: ``torch.types``)."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from ..tensors.storages import TypedStorage, UntypedStorage
from ..tensors.tensor import Tensor
from ..values.size import Size

__all__ = ["Device", "FileLike", "Number", "Storage", "Tensor"]

Number: TypeAlias = int | float | bool
Device: TypeAlias = Any  # a device, its name, its index or None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Storage: TypeAlias = TypedStorage | UntypedStorage

_TensorOrTensors = Tensor | Sequence[Tensor]
_size = Size | list[int] | tuple[int, ...]
_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
_symint = int
