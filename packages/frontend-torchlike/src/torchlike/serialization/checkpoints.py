"""Files that ``torch.save`` writes: a zip file of a pickle and of storages, read without running anything in them."""

from __future__ import annotations

import sys
from typing import Any

from dispatch_aten.dtypes import BY_NAME

from ..tensors.tensor import Tensor
from .archive import Archive
from .classes import is_allowed, list_allowed, set_attributes
from .layouts.quantized import SCHEMES
from .locations import Locator
from .opcodes import Global, unpickle
from .plain_values import PLAIN_VALUES, set_state
from .rebuilding import CLASSES, STORAGES, Rebuilder, set_tensor_attributes
from .refusals import refuse, shorten
from .settings import LoadEndianness, get_default_load_endianness
from .sources import LEGACY, Source
from .torch_files.legacy import read_legacy
from .torch_files.names import Name, find_value, make_name, to_python3
from .torch_files.trusted import Trust


class _Rules:
    """Allows data, and what the program has allowed; see Note [Objects of classes] in `.classes`."""

    def __init__(self, rebuilder: Rebuilder) -> None:
        self.load_storage = rebuilder.load_storage
        self.is_allowed = is_allowed
        self._globals: dict[str, Any] = {
            name: Global(name, call)
            for name, call in (PLAIN_VALUES | rebuilder.list_functions() | dict.fromkeys([*STORAGES, *CLASSES])).items()
        }
        self._globals |= {f"torch.{name}": dtype for name, dtype in BY_NAME.items()}
        self._globals |= SCHEMES
        self._allowed = list_allowed()

    def find_global(self, module: str, name: str) -> Any:
        """Return the object that a name represents."""
        module, name = to_python3(Name(module, name))
        whole = f"{module}.{name}"
        if whole in self._globals:
            return self._globals[whole]
        if whole in self._allowed:
            return self._allowed[whole]
        own = make_name(module, name)
        for each in self._allowed.values():
            if getattr(each, "__qualname__", None) == name and _is_name_of(own, each):
                return each
        shown = shorten(whole)
        raise ValueError(
            f"{shown} is refused: a file may hold tensors, numbers, strings and containers of them, and what the program "
            f"allows by torch.serialization.add_safe_globals([{shown.rpartition('.')[2]}]); weights_only=False would run "
            "whatever the file names"
        )

    def set_state(self, value: Any, state: Any) -> None:
        """Give a value its attributes."""
        if isinstance(value, Tensor):
            set_tensor_attributes(value, state)
        elif is_allowed(type(value)):
            set_attributes(value, state)
        else:
            set_state(value, state)


def _is_name_of(name: Name, value: Any) -> bool:
    """Return whether a name below ``torch`` is that of an object of ours."""
    if not name.module.startswith("torch"):
        return False
    try:
        return find_value(name) is value
    except (ImportError, AttributeError):
        return False


def read_checkpoint(source: Source, locate: Locator, trust: Trust | None = None) -> Any:
    """Return the structure of a file that ``torch.save`` wrote, by what the program trusts.

    Without trust raises ``ValueError`` for anything but tensors and plain data.
    """
    if source.starts_with(LEGACY):
        return _read_legacy(source, locate, trust)
    try:
        data, rebuilder = _open(source, locate)
        value = None if trust else unpickle(data, _Rules(rebuilder))
        rebuilder.finish()
    except Exception as error:  # noqa: BLE001  # whatever a wrong file leads to
        refuse(error, source.name, "cannot be read", locate.error)
    if trust:
        # Errors of code that the file names are the program's.
        value = trust.unpickle(data, rebuilder)
        rebuilder.finish()
    return value


def _read_legacy(source: Source, locate: Locator, trust: Trust | None) -> Any:
    """Return the structure of a file of torch's older format."""
    try:
        return read_legacy(source, locate, _Rules, trust)
    except NotImplementedError:
        raise
    except Exception as error:
        if trust and not isinstance(error, ValueError):
            raise  # errors of code that the file names are the program's
        refuse(error, source.name, "cannot be read", locate.error)


def _open(source: Source, locate: Locator) -> tuple[bytes, Rebuilder]:
    """Return the pickle of a file, and the maker of its tensors."""
    archive = Archive(source)
    pickles = [name for name in archive.sizes if name.endswith("/data.pkl") and name.count("/") == 1]
    if len(pickles) != 1:
        raise ValueError("it has no data.pkl")
    root = pickles[0].removesuffix("data.pkl")
    rebuilder = Rebuilder(archive, root, locate, is_swapped=_find_order(archive, root) != sys.byteorder)
    return archive.take(pickles[0]).tobytes(), rebuilder


def _find_order(archive: Archive, root: str) -> str:
    """Return the order of bytes that a file has, or the program's setting for files that name none."""
    if f"{root}byteorder" not in archive.sizes:
        wanted = get_default_load_endianness()
        return sys.byteorder if wanted is LoadEndianness.NATIVE else "big" if wanted is LoadEndianness.BIG else "little"
    found = archive.take(f"{root}byteorder").tobytes().decode("latin1")
    if found not in ("little", "big"):
        raise ValueError(f"its byte order is {shorten(found)!r}")
    return found
