"""The Autocast keys of devices, once their kernels are registered."""

from __future__ import annotations

from typing import Final

from dispatch_core.keys import DispatchKey

#: An Autocast key → the device whose it is; a PrivateUse key may be claimed by another one later.
DEVICES: Final[dict[DispatchKey, str]] = {}
#: A device → its own key and its Autocast key.
KEYS: Final[dict[str, tuple[DispatchKey, DispatchKey]]] = {}
