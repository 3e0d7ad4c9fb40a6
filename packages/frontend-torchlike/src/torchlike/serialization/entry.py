"""``save`` and ``load``: a nested structure to one file, and back."""

from __future__ import annotations

import os
from typing import Any

from dispatch_core.tracebacks import api_boundary

from .locations import MapLocation, make_locator

_NO_PICKLE = (
    "load() reads data only and never runs code from a file, so weights_only=False is not implemented:"
    " leave it out, and allow the classes of a file by serialization.add_safe_globals"
)


@api_boundary
def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write tensors, and their containers, to a file in the safetensors format, with the structure beside them as JSON.

    Takes lists, tuples, dicts with keys of any such kind, sets, numbers, strings, bytes, dtypes, devices, NumPy's arrays and
    ``argparse.Namespace``; of other objects, a whole module for one, their class's name and attributes. Tensors that share
    memory share it again after `load`. ``f`` is a path or a file that is open for writing bytes. A file at the path is
    replaced when all of the new one is on the disk, which must have room for both; an error leaves the old one as it was.
    Raises ``TypeError`` for functions, classes and objects without attributes, ``ValueError`` for containers more than 200
    levels deep, ``RuntimeError`` for a file that must be written in place, as one that has other names, while tensors of
    ``load(mmap=True)`` lie in it.
    """
    # Most programs save at their end, if at all, and each would pay for the imports.
    from dispatch_core.files import replace_file

    from .files import FileContent
    from .sources import refuse_mapped, write_all

    if hasattr(f, "write"):
        write_all(f, FileContent(obj).parts())
        return
    if not isinstance(f, (str, bytes, os.PathLike)):
        hint = "\nHint: the path comes second: save(obj, path)" if isinstance(obj, (str, os.PathLike)) else ""
        raise TypeError(f"save(): argument 'f' must be a path or a file, not {type(f).__name__}{hint}")
    content = FileContent(obj)
    with replace_file(f, may_overwrite=refuse_mapped) as file:
        write_all(file, content.parts())


@api_boundary
def load(
    f: Any,
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read a file that `save` or ``torch.save`` wrote, or one in the safetensors format; no code in it is run.

    ``map_location`` is a device for all tensors, a dict of devices by the saved ones' names, or a function of a storage and
    such a name. Tensors that it leaves where they were go to cpu, meta and devices that are loaded already: no backend is
    loaded because a file names it.

    ``mmap=True`` maps the file at a path into memory in place of reading it: elements are read when they are used, writes
    to a tensor stay in this process, and no checksum is compared. The tensors stay as they are when `save`
    replaces the file; a program that writes into it changes them. A file object is read from where it stands, and left
    at its end.

    Raises ``RuntimeError`` for other devices, ``FileNotFoundError`` for a missing file, ``ValueError`` for ``mmap=True``
    with a file object, for a file that holds anything but data, or an object of a class that was not allowed by
    ``torch.serialization.add_safe_globals``, ``NotImplementedError`` for ``weights_only=False``.
    """
    if weights_only is False:
        raise NotImplementedError(_NO_PICKLE)
    from .sources import open_source

    with open_source(f, bool(mmap)) as source:
        locate = make_locator(map_location)
        if source.starts_with(b"PK\x03\x04"):
            from .checkpoints import read_checkpoint as read
        else:
            from .files import read_file as read
        return read(source, locate)
