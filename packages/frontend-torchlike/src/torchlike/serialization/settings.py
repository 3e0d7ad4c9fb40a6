"""Settings and constants of ``torch.serialization``."""

from __future__ import annotations

import mmap
import os
import struct
import sys
import threading
from enum import Enum
from typing import IO, Final, TypeAlias

from ..tensors.storages import TypedStorage, UntypedStorage
from ..utils.serialization import config
from .locations import MapLocation

DEFAULT_PROTOCOL: Final = 2
LONG_SIZE: Final = struct.calcsize("=l")
INT_SIZE: Final = struct.calcsize("=i")
SHORT_SIZE: Final = struct.calcsize("=h")
MAGIC_NUMBER: Final = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION: Final = 1001
STORAGE_KEY_SEPARATOR: Final = ","
IS_WINDOWS: Final = sys.platform == "win32"
MAP_PRIVATE: Final[int | None] = getattr(mmap, "MAP_PRIVATE", None)
MAP_SHARED: Final[int | None] = getattr(mmap, "MAP_SHARED", None)
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION: TypeAlias = MapLocation
STORAGE: TypeAlias = TypedStorage | UntypedStorage


class SourceChangeWarning(Warning):
    """A class has another source than when it was saved; files of the present format do not hold sources."""


class LoadEndianness(Enum):
    """An order of bytes (source: ``torch.serialization.LoadEndianness``)."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _OfThread(threading.local):
    skip_data = False


_of_thread: Final = _OfThread()


def is_data_skipped() -> bool:
    """Return whether this thread is in a block of `skip_data`."""
    return _of_thread.skip_data


def get_default_load_endianness() -> LoadEndianness | None:
    """Return the order of bytes in files that name none (source: ``torch.serialization.get_default_load_endianness``)."""
    found: LoadEndianness | None = config.load.endianness
    return found


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the order of bytes in files that name none.

    Raises ``TypeError`` for anything but a `LoadEndianness` or None.
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    config.load.endianness = endianness


def get_crc32_options() -> bool:
    """Return whether ``save`` computes checksums by the program's setting; it always does."""
    return config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Set what `get_crc32_options` returns."""
    config.save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """Return how ``load(mmap=True)`` maps files (source: ``torch.serialization.get_default_mmap_options``)."""
    return config.load.mmap_flags


class set_default_mmap_options:  # noqa: N801  # torch's name
    """Set how ``load(mmap=True)`` maps files, for good or within a block.

    ``flags`` is ``mmap.MAP_PRIVATE`` or ``mmap.MAP_SHARED``, by which writes to tensors change the file. Raises
    ``ValueError`` for other flags, ``RuntimeError`` where the system has none.
    """

    def __init__(self, flags: int) -> None:
        if MAP_PRIVATE is None or MAP_SHARED is None:
            raise RuntimeError("Changing the default mmap options is currently not supported for Windows")
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED,"
                f" but got {flags}"
            )
        self.prev, config.load.mmap_flags = config.load.mmap_flags, flags

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        config.load.mmap_flags = self.prev


class skip_data:  # noqa: N801  # torch's name
    """Leave the elements of tensors out within a block: ``save`` writes zeros in their place, ``load`` gives zeros.

    ``materialize_fake_tensors`` says nothing here, where there are no fake tensors.
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors
        self._before = False

    def __enter__(self) -> None:
        self._before, _of_thread.skip_data = _of_thread.skip_data, True

    def __exit__(self, *exc: object) -> None:
        _of_thread.skip_data = self._before
