"""Settings of ``save`` and ``load``, for all threads (source: ``torch.utils.serialization.config``).

>>> with patch({"save.storage_alignment": 4096}):
...     save.storage_alignment
4096
>>> save.storage_alignment
64
"""

from __future__ import annotations

import mmap as _mmap
from collections.abc import Iterator as _Iterator
from collections.abc import Mapping as _Mapping
from contextlib import contextmanager as _contextmanager
from typing import Any as _Any

__all__ = ["load", "patch", "save"]


class load:  # noqa: N801  # torch's name
    """How files are read."""

    #: Whether paths are mapped into memory where ``load`` is not told.
    mmap: bool = False
    #: The order of bytes in files that name none, a ``LoadEndianness``; None is that of little-endian machines.
    endianness: _Any = None
    #: Whether writes to mapped tensors change the file (``mmap.MAP_SHARED``); None where the system has no such choice.
    mmap_flags: int | None = getattr(_mmap, "MAP_PRIVATE", None)
    #: Places of storages are always read.
    calculate_storage_offsets: bool = False


class save:  # noqa: N801  # torch's name
    """How files are written."""

    #: Checksums are always written.
    compute_crc32: bool = True
    #: Copies of devices' elements take the way of the device.
    use_pinned_memory_for_d2h: bool = False
    #: The multiple of bytes at which a storage begins.
    storage_alignment: int = 64


@_contextmanager
def patch(changes: _Mapping[str, _Any] | str, value: _Any = None) -> _Iterator[None]:
    """Change settings within a block: a name and its value, or several in a dict.

    Raises ``AttributeError`` for a name that is not there.
    """
    items = {changes: value} if isinstance(changes, str) else dict(changes)
    before = [(*_find(name), new) for name, new in items.items()]
    old = [getattr(owner, name) for owner, name, _ in before]
    try:
        for owner, name, new in before:
            setattr(owner, name, new)
        yield
    finally:
        for (owner, name, _), each in zip(before, old, strict=True):
            setattr(owner, name, each)


def _find(name: str) -> tuple[_Any, str]:
    group, _, setting = name.partition(".")
    owner = {"load": load, "save": save}.get(group)
    if owner is None or not hasattr(owner, setting):
        raise AttributeError(f"{name} is not a setting of files")
    return owner, setting
