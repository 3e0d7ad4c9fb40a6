"""Where a tensor on a device lies in memory that it shares with others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dispatch_core as dc

from ..creation.factories import FACTORIES
from ..history.grad_mode import no_grad
from ..history.view_chains import replay
from ..tensors.tensor import Tensor


def find_place(tensor: Tensor) -> tuple[Any, int, Sequence[int]] | None:
    """Return a key that tensors in one memory share, and where a tensor lies in it: offset and strides, in elements.

    None where it shares with none. See Note [Shared memory in files] in `.files`. A view of an array without strides that no
    strides describe, as the one that ``view`` makes of a transposed tensor, counts as memory of its own.
    """
    if dc.has_strides(tensor):
        return ("storage", dc.storage_of(tensor)), tensor.storage_offset(), tensor.stride()
    state: Any = tensor._state
    storage = state.storage
    if storage is not None and storage.aliases is not None:
        whole: Any = storage.aliases.data
        try:
            with no_grad():
                base = FACTORIES["empty"](dc.shape(whole), dtype=dc.dtype(whole), device="meta")
                same = replay(base, state.chain)
        except RuntimeError:
            pass  # It needs other strides than there are.
        else:
            is_view = same.dtype == tensor.dtype and dc.storage_of(same) == dc.storage_of(base)
            if is_view and same.shape == tensor.shape:
                return ("aliases", id(storage.aliases)), same.storage_offset(), same.stride()
    return None
