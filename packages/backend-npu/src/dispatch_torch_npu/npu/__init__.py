"""``torch_npu.npu``, which is ``torch.npu`` once torch_npu is imported.

What every device has is the device's module of torchlike; Ascend's own names lie in the modules beside this one, which are
imported at the first use of a name. Names that are not served are there, too, and are refused when they are called.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import torchlike

from ..refusals import refusing_class, refusing_function
from .table import OWN, REFUSED

__all__ = ["SERVED"]

#: The module of the device that torchlike makes for the backend; the name ``torchlike.npu`` may be this package later.
_DEVICE: Final = torchlike.get_device_module("npu")
#: Names of torch_npu's that are served by what every device has.
SERVED: Final = tuple(OWN)


def __getattr__(name: str) -> Any:
    if name in OWN:
        found = getattr(import_module(f".{OWN[name]}", __name__), name)
    elif name in REFUSED:
        reason, hint = REFUSED[name]
        found = (refusing_class if name[:1].isupper() else refusing_function)(f"torch_npu.npu.{name}", reason, hint)
    else:
        return getattr(_DEVICE, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*OWN, *REFUSED, *dir(_DEVICE)})
