"""The names of devices: torch's, whose modules are there although nothing may bring them, and those that are told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

#: Those that torch itself has a module for.
TORCHS: Final = ("cuda", "xpu", "mps", "mtia")
#: The device's name → its name in torch's errors. Programs ask these modules before they know what a machine has.
ABSENT: Final = {name: name.upper() for name in (*TORCHS, "npu")}
#: The devices that are places of arrays and nothing else: their modules are torch's own, or none.
PLAIN: Final = ("cpu", "meta")
#: The devices whose names the core has told.
KNOWN: Final[set[str]] = set()
#: The classes beside the tensor's that have a method for each device, and whether they have a question, too.
MOVED: Final[dict[type, bool]] = {}
#: The functions that give these classes the methods of devices; machines without further devices have none.
GIVERS: Final[list[Callable[[Iterable[str]], None]]] = []


def add_moved(kind: type, *, is_asked: bool) -> None:
    """Note a class whose objects are moved by methods of devices; ``is_asked``: whether they have questions, too."""
    MOVED[kind] = is_asked
    for give in GIVERS:
        give(KNOWN)
