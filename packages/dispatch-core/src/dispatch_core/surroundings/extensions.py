"""Compiled extensions: optional distributions, which fit by the number of a layout, or are refused by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from ..errors import BackendError
from .environment import parse_boolean
from .logs import Log

VARIABLE: Final = "DISPATCH_NATIVE"


def find_extension(
    distribution: str, find: str, layout: int, owner: str, use: Callable[[Any], object], *, on: str, off: str
) -> tuple[Any, str]:
    """Return a distribution's compiled module, or None, and a sentence about it; "" where it is not installed or not built.

    The function ``find`` of its package returns the module, which carries the number of its ``layout``, as the distribution
    that takes it, the ``owner``, does; ``use`` is then called with it. The sentence is ``on``, or begins with ``off``. The
    variable ``DISPATCH_NATIVE`` turns all of them off; anything else that does is a warning, too.

    >>> find_extension("dispatch-nowhere-native", "find", 1, "dispatch-core", print, on="it is on", off="it is off")
    (None, '')
    """
    try:
        package = import_module(distribution.replace("-", "_"))
    except ImportError:
        return None, ""
    found = getattr(package, find, None)
    if found is None:
        return _refuse(off, f"{distribution} has no {find}. Hint: install it and {owner} in one version")
    text = os.environ.get(VARIABLE, "").strip()
    try:
        if text and not parse_boolean(VARIABLE, text):
            return None, f"{off}, because {VARIABLE} is {text!r}"
        module = found()
    except ModuleNotFoundError:
        return None, ""  # sources that are not built
    except BackendError as error:
        return _refuse(off, str(error))
    except ImportError as error:
        return _refuse(off, f"{distribution} cannot be imported: {error}")
    if layout != module.LAYOUT:
        return _refuse(
            off,
            f"{distribution} has the layout {module.LAYOUT}, and this version of {owner} takes {layout}."
            " Hint: install both in one version",
        )
    try:
        use(module)
    except ImportError as error:
        return _refuse(off, f"{distribution} cannot be used: {error}")
    return module, on


def _refuse(off: str, reason: str) -> tuple[None, str]:
    remark = f"{off}, because {reason}"
    Log("plugins").warning("%s", remark)
    return None, remark
