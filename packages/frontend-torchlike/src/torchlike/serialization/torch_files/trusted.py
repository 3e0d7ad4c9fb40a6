"""Pickles that the program trusts, by ``weights_only=False``: read by Python's own reader, which runs what they name."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from typing import IO, Any

from ..opcodes import Global
from ..rebuilding import STORAGES, Rebuilder
from .names import Name, find_value, to_python3


class Trust:
    """The program's word that a file may run code: the module that reads its pickle, and the options of that reader."""

    def __init__(self, pickle_module: Any = None, options: Mapping[str, Any] | None = None) -> None:
        self._reader: Any = (pickle_module or pickle).Unpickler
        self._options = {"encoding": "utf-8", **(options or {})}

    def unpickle(self, data: bytes, rebuilder: Rebuilder) -> Any:
        """Return the value of a pickle. Names below ``torch`` are ours, see Note [Names below torch] in `.names`.

        Raises ``AttributeError`` for one that is not there, and whatever the pickle's own code raises.
        """
        return self.unpickle_stream(io.BytesIO(data), rebuilder)

    def unpickle_stream(self, file: IO[bytes], rebuilder: Rebuilder) -> Any:
        """Return the value of the pickle that begins where a file stands."""
        functions = rebuilder.list_functions()
        reader: Any = self._reader

        class Unpickler(reader):  # type: ignore[misc]  # the module is the program's
            def find_class(self, module: str, name: str) -> Any:
                whole = to_python3(Name(module, name))
                text = f"{whole.module}.{whole.name}"
                if text in functions:
                    return functions[text]
                if whole.module.partition(".")[0] in ("torch", "torchlike"):
                    return _find_storage(whole) or find_value(whole)
                return super().find_class(module, name)

            def persistent_load(self, identity: Any) -> Any:
                return rebuilder.load_storage(identity)

        return Unpickler(file, **self._options).load()


def _find_storage(name: Name) -> Global | None:
    """Return the class of storages that a name means, also one of another device's."""
    for text in (f"{name.module}.{name.name}", f"torch.{name.name}"):
        if name.name.endswith("Storage") and text in STORAGES:
            return Global(text)
    return None
