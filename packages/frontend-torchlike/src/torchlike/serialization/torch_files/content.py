"""The content of a file in torch's format: a pickle, and the storages of its tensors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from ...tensors.tensor import Tensor
from ...utils.serialization import config
from ..places import describe_place
from ..refusals import NotSavedError, shorten
from ..settings import is_data_skipped
from .pickling import Pickler, TooDeepError
from .tensors import CyclicTensorError, SavedTensors, WrittenStorage
from .zip_writer import ZipWriter


class CheckpointContent:
    """The content of a file: everything but the elements is known, and checked, before the first part.

    ``folder`` is the name of the folder in the file that all entries lie in. Raises `NotSavedError` for values that cannot
    be pickled, ``ValueError`` for containers that lie too deep.
    """

    def __init__(self, obj: Any, folder: str = "archive") -> None:
        self._folder = folder
        try:
            self._pickle, self._storages = _pickle(obj)
        except NotSavedError as error:
            place = describe_place(obj, error.value)
            raise NotSavedError(f"save() cannot write {place or 'the value'}: {error.what}", error.value) from None
        except TooDeepError as error:
            place = shorten(describe_place(obj, error.value))
            raise ValueError(f"{error}: {place!r} lies deeper") from None

    def parts(self) -> Iterator[memoryview]:
        """Yield the file's parts in their order; see Note [Memory of load and save] in `..sources`."""
        alignment = config.save.storage_alignment
        archive = ZipWriter(self._folder, alignment=alignment)
        yield from archive.add("data.pkl", len(self._pickle), [memoryview(self._pickle)])
        for name, text in (
            (".format_version", "1"),
            (".storage_alignment", str(alignment)),
            ("byteorder", sys.byteorder),
        ):
            yield from archive.add_text(name, text)
        for storage in self._storages:
            parts = _make_zeros(storage.nbytes) if is_data_skipped() else storage.parts()
            yield from archive.add(f"data/{storage.key}", storage.nbytes, parts)
        yield from archive.finish()


def _make_zeros(count: int) -> Iterator[memoryview]:
    block = bytes(1 << 20)
    while count > 0:
        yield memoryview(block)[:count]
        count -= len(block)


def _pickle(obj: Any) -> tuple[bytes, list[WrittenStorage]]:
    """Return the pickle of an object, and the storages of its tensors."""
    cyclic: list[Tensor] = []
    while True:
        tensors = SavedTensors(cyclic)
        try:
            return Pickler(tensors.replace).dump(obj), tensors.list_storages()
        except CyclicTensorError as error:
            cyclic.append(error.tensor)
