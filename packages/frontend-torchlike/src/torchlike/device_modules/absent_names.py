"""The devices of torch's whose modules are there although nothing may bring them; they answer no then."""

from __future__ import annotations

from typing import Final

#: Those that torch itself has a module for.
TORCHS: Final = ("cuda", "xpu", "mps", "mtia")
#: The device's name → its name in torch's errors. Programs ask these modules before they know what a machine has.
ABSENT: Final = {name: name.upper() for name in (*TORCHS, "npu")}
#: The devices that are places of arrays and nothing else: their modules are torch's own, or none.
PLAIN: Final = ("cpu", "meta")
