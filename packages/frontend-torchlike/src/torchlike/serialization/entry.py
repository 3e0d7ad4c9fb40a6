"""``save`` and ``load``: a nested structure to one file, and back."""

from __future__ import annotations

import os
from typing import Any

from dispatch_core.tracebacks import api_boundary

from .locations import MapLocation, make_locator

__all__ = ["load", "save"]

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
    """Write tensors, and what contains them, to a file in the safetensors format, with the structure beside them as JSON.

    Takes lists, tuples, dicts with keys of any such kind, sets, numbers, strings, bytes, dtypes, devices, NumPy's arrays and
    ``argparse.Namespace``; of other objects, a whole module for one, their class's name and attributes. Tensors that share
    memory share it again after `load`. ``f`` is a path or a file that is open for writing bytes. A file at the path is
    replaced when all of the new one is on the disk, which must have room for both; an error leaves the old one as it was.
    Raises ``TypeError`` for functions, classes and objects without attributes, ``ValueError`` for containers more than 200
    levels deep.
    """
    # Most programs save at their end, if at all, and each would pay for the imports.
    from dispatch_core.files import replace_file

    from .files import write_file

    if hasattr(f, "write"):
        f.write(write_file(obj))
        return
    if not isinstance(f, (str, bytes, os.PathLike)):
        hint = "\nHint: the path comes second: save(obj, path)" if isinstance(obj, (str, os.PathLike)) else ""
        raise TypeError(f"save(): argument 'f' must be a path or a file, not {type(f).__name__}{hint}")
    data = write_file(obj)
    with replace_file(f) as file:
        file.write(data)


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
    loaded because a file names it. Raises ``RuntimeError`` for other devices, ``FileNotFoundError`` for a missing file,
    ``ValueError`` for one that holds anything but data, or an object of a class that was not allowed by
    ``torch.serialization.add_safe_globals``, ``NotImplementedError`` for ``weights_only=False``.
    """
    if weights_only is False:
        raise NotImplementedError(_NO_PICKLE)
    if hasattr(f, "read"):
        name, data = str(getattr(f, "name", "the file")), f.read()
    else:
        name = os.fspath(f)
        with open(name, "rb") as file:  # noqa: PTH123  # pathlib is not imported for this
            data = file.read()
    locate = make_locator(map_location)
    if data[:4] == b"PK\x03\x04":
        from .checkpoints import read_checkpoint as read
    else:
        from .files import read_file as read
    return read(bytes(data), name, locate)
