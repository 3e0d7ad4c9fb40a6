"""Whose code a call comes from: the user's line is what an error shows, not one inside a frontend or an operator library."""

from __future__ import annotations

import sys
from typing import Final

from ..arrays.frontend import FRONTENDS
from ..calls.emit import PREFIX
from ..discovery import loader

__all__ = ["is_internal"]

#: How the files of generated code and of the dispatcher's own begin.
_FILES: Final = PREFIX, "<autograd", str(__file__).rpartition("pipelines")[0]


def is_internal(file: str) -> bool:
    """Tell whether a file of code is the dispatcher's, or belongs to the package of a frontend or an installed plugin.

    >>> is_internal(__file__), is_internal("train.py")
    (True, False)
    """
    if file.startswith(_FILES):
        return True
    packages = _packages()
    modules = list(sys.modules.items())
    return any(
        name.partition(".")[0] in packages and getattr(module, "__file__", None) == file for name, module in modules
    )


def _packages() -> set[str]:
    from ..distributions import BACKENDS, OPERATORS  # asked once for each file of code

    claims = loader().catalog.scan.claims
    found = {claim.module.partition(".")[0] for claim in claims if claim.group in (BACKENDS, OPERATORS)}
    for frontend in list(FRONTENDS.values()):
        name = frontend.tensor_type.__module__.partition(".")[0]
        # A tensor class may stand in the user's own script, or in a folder that is no package of its own.
        module = sys.modules.get(name)
        if hasattr(module, "__path__") and getattr(module, "__file__", None) is not None:
            found.add(name)
    return found
