"""``save`` and ``load``: a nested structure to one file, and back."""

from __future__ import annotations

import os
from typing import Any, Final, Literal

from dispatch_core.tracebacks import api_boundary, warn_caller

from ..names.lazy_names import aliases
from .locations import MapLocation, make_locator

_TRUSTED: Final = (
    "load(weights_only=False) runs whatever code the file names, with your rights: use it only for files that you trust. "
    "Without it a file is data, and classes that it may hold are allowed by torch.serialization.add_safe_globals"
)


@api_boundary
def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    *,
    format: Literal["torch", "safetensors"] | None = None,  # the word for a file's kind
) -> None:
    """Write an object to a file in torch's format, which ``torch.load`` reads, or in the safetensors format.

    What torch's loader takes as data (tensors, parameters, numbers, texts, containers of them) it reads by default. The rest
    is written as torch writes it: NumPy's arrays and ``argparse.Namespace``, which `load` reads, too, and objects, classes
    and functions by their names, which are read where they are allowed. Tensors that share memory share it again after
    `load`; those on a device that torch does not have are read there with ``map_location="cpu"``.

    ``f`` is a path or a file that is open for writing bytes. A file at the path is replaced when all of the new one is on
    the disk, which must have room for both; an error leaves the old one as it was.

    ``format="safetensors"`` writes tensors, and their containers, so that the library safetensors reads the tensors, with
    the structure beside them as JSON; so does a path that ends in ``.safetensors``, but under ``torchlike run``. The other
    arguments are torch's; the protocol is always 2, the one that torch's loader reads by default.

    Raises ``TypeError`` for what cannot be pickled, such as functions without a name of their module's, ``ValueError`` for
    containers more than 1000 levels deep (200 in the safetensors format), ``RuntimeError`` for a file that must be written
    in place, as one that has other names, while tensors of ``load(mmap=True)`` lie in it.
    """
    # Most programs save at their end, if at all, and each would pay for the imports.
    from dispatch_core.files import replace_file

    from .sources import refuse_mapped, write_all

    is_path = isinstance(f, (str, bytes, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        raise TypeError(f"save(): argument 'f' must be a path or a file, not {type(f).__name__}{_hint_at_order(obj)}")
    content = _make_content(obj, os.fsdecode(f) if is_path else "", format)
    if not is_path:
        write_all(f, content.parts())
        return
    with replace_file(f, may_overwrite=refuse_mapped) as file:
        write_all(file, content.parts())


def _hint_at_order(obj: object) -> str:
    return "\nHint: the path comes second: save(obj, path)" if isinstance(obj, (str, os.PathLike)) else ""


def _make_content(obj: Any, path: str, format: str | None) -> Any:
    """Return the content of a file in the format that is asked for, or that the path's suffix means."""
    if format is None:
        is_plain = path.endswith(".safetensors") and not aliases  # filled where torchlike stands in for torch
        format = "safetensors" if is_plain else "torch"
    if format == "safetensors":
        from .files import FileContent

        return FileContent(obj)
    if format != "torch":
        raise ValueError(f"save(): format must be 'torch' or 'safetensors', not {format!r}")
    from .torch_files.content import CheckpointContent

    # As torch does, the folder in the file is the file's name.
    stem = os.path.basename(path).rpartition(".")[0] or os.path.basename(path)  # noqa: PTH119  # pathlib is not imported
    return CheckpointContent(obj, stem if stem.isascii() and stem.strip(".") and "\\" not in stem else "archive")


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
    """Read a file that `save` or ``torch.save`` wrote, or one in the safetensors format; by default no code in it is run.

    ``map_location`` is a device for all tensors, a dict of devices by the saved ones' names, or a function of a storage and
    such a name. Tensors that it leaves where they were go to cpu, meta and devices that are loaded already: no backend is
    loaded because a file names it.

    ``mmap=True`` maps the file at a path into memory in place of reading it: elements are read when they are used, writes
    to a tensor stay in this process, and no checksum is compared. The tensors stay as they are when `save`
    replaces the file; a program that writes into it changes them. A file object is read from where it stands, and left
    at its end.

    ``weights_only=False`` is the program's word that it trusts the file: **code that the file names is run**, as by
    Python's ``pickle``. A warning says so. Names below ``torch`` are torchlike's, also where torch is installed.
    ``pickle_module`` and its options count only then.

    Raises ``RuntimeError`` for other devices, ``FileNotFoundError`` for a missing file, ``ValueError`` for ``mmap=True``
    with a file object, for a file that holds anything but data, or an object of a class that was not allowed by
    ``torch.serialization.add_safe_globals``; with ``weights_only=False`` ``AttributeError`` for a name below ``torch`` that
    torchlike does not have.
    """
    if weights_only and pickle_module is not None:
        raise RuntimeError("load(): a pickle_module reads a file that is trusted, by weights_only=False, and no other")
    from .sources import LEGACY, ZIP, open_source

    if mmap is None:
        from ..utils.serialization import config

        mmap = config.load.mmap and isinstance(f, (str, bytes, os.PathLike))
    with open_source(f, bool(mmap)) as source:
        locate = make_locator(map_location)
        is_legacy = source.starts_with(LEGACY)
        if is_legacy and mmap:
            raise RuntimeError(
                "load(): mmap=True takes files of torch's zip format, and this is one of the older format"
            )
        if not is_legacy and not source.starts_with(ZIP):
            from .files import read_file

            return read_file(source, locate)
        from .checkpoints import read_checkpoint

        if weights_only is not False:
            return read_checkpoint(source, locate)
        from .torch_files.trusted import Trust

        warn_caller(_TRUSTED)
        return read_checkpoint(source, locate, Trust(pickle_module, pickle_load_args))
