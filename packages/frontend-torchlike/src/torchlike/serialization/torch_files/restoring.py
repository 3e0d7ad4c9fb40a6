"""Where storages go by torch's functions for that, and names of a file that its loader would refuse."""

from __future__ import annotations

import io
import os
import pickletools
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

from dispatch_aten.dtypes import BY_NAME

from ..archive import Archive
from ..classes import list_allowed
from ..layouts.quantized import SCHEMES
from ..locations import MapLocation, make_locator
from ..plain_values import PLAIN_VALUES
from ..rebuilding import CLASSES, STORAGES, Rebuilder
from ..sources import ZIP, open_source
from .names import Name, to_python3

#: Priority, function of a storage's tag, function of a storage and a tag that brings it there.
_packages: Final[list[tuple[int, Callable[[Any], str | None], Callable[[Any, str], Any]]]] = []


def register_package(
    priority: int, tagger: Callable[[Any], str | None], deserializer: Callable[[Any, str], Any]
) -> None:
    """Add functions that `location_tag` and `default_restore_location` ask, those of the lowest priority first.

    ``save`` and ``load`` do not ask them: a tensor's tag is its device.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda each: each[0])


def location_tag(storage: Any) -> str:
    """Return the name of a storage's device, as files have it (source: ``torch.serialization.location_tag``)."""
    found = (tagger(storage) for _, tagger, _ in _packages)
    return next(filter(None, found), None) or str(storage.device)


def default_restore_location(storage: Any, location: str) -> Any:
    """Return a storage on the device that a tag names.

    Raises what ``load`` does for a device that is not there, ``RuntimeError`` where it has no storages of this kind.
    """
    for _, _, bring in _packages:
        found = bring(storage, location)
        if found is not None:
            return found
    device = make_locator(None)(location)
    return storage if storage.device == device else type(storage)(storage._flat().to(device))


def get_restore_location(map_location: MapLocation) -> Callable[[Any, str], Any]:
    """Return the function that brings a storage where ``map_location`` says, called with the storage and its tag."""
    if callable(map_location) and not hasattr(map_location, "type"):

        def call(storage: Any, location: str) -> Any:
            found = map_location(storage, location)
            return default_restore_location(storage, location) if found is None else found

        return call
    locate = make_locator(map_location)
    return lambda storage, location: default_restore_location(storage, str(locate(location)))


def normalize_storage_type(storage_type: type) -> type:
    """Return the class of storages of the same name in torch's namespace."""
    import torchlike

    found: type = getattr(torchlike, storage_type.__name__)
    return found


def validate_cuda_device(location: str) -> int:
    """Raise ``RuntimeError``: no device of CUDA is there."""
    raise RuntimeError(
        "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a"
        " CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
    )


def check_module_version_greater_or_equal(
    module: ModuleType, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Return whether a module has a version from a number on.

    A version that cannot be read is a ``RuntimeError``, or a warning and True without ``error_if_malformed``.
    """
    version: Any = getattr(module, "__version__", None)
    try:
        parts = version.split(".")
        return tuple(type(each)(parts[at]) for at, each in enumerate(req_version_tuple)) >= req_version_tuple
    except Exception as error:
        text = f"'{module.__name__}' module version string is malformed '{version}' and cannot be compared with tuple"
        if error_if_malformed:
            raise RuntimeError(f"{text} {req_version_tuple}") from error
        warnings.warn(f"{text} {req_version_tuple}, but continuing assuming that requirement is met", stacklevel=2)
        return True


@contextmanager
def mkdtemp() -> Iterator[str]:
    """Make a folder that is there within a block, and give its path."""
    with tempfile.TemporaryDirectory() as path:
        yield path


def is_zipfile(f: Any) -> bool:
    """Return whether a file begins as a zip file does, from where it stands."""
    start = f.tell()
    found: bool = f.read(len(ZIP)) == ZIP
    f.seek(start)
    return found


def is_path(name_or_buffer: object) -> bool:
    """Return whether an argument is a path, and not a file."""
    return isinstance(name_or_buffer, (str, os.PathLike))


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Return the names of classes and functions in a file that ``load`` would refuse.

    Nothing in the file is run. Raises ``ValueError`` for a file that ``save`` has not written.
    """
    with open_source(f, False) as source:
        if not source.starts_with(ZIP):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = Archive(source)
        name = next((each for each in archive.sizes if each.endswith("/data.pkl")), None)
        if name is None:
            raise ValueError("Expected input to be a checkpoint returned by torch.save, with a data.pkl")
        data = archive.take(name).tobytes()
    functions = Rebuilder(archive, "", make_locator(None)).list_functions()
    safe = {*PLAIN_VALUES, *STORAGES, *CLASSES, *functions, *list_allowed()}
    found: dict[str, None] = {}
    for opcode, argument, _ in pickletools.genops(io.BytesIO(data)):
        if opcode.name == "GLOBAL":
            module, _, attribute = str(argument).partition(" ")
            found[".".join(to_python3(Name(module, attribute)))] = None
    return [each for each in found if each not in safe and not _is_dtype(each)]


def _is_dtype(name: str) -> bool:
    """Return whether a name in a file is that of a dtype, or of a scheme of quantized tensors."""
    return (name.startswith("torch.") and name.removeprefix("torch.") in BY_NAME) or name in SCHEMES
