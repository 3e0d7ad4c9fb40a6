"""The user's line that a call comes from, which errors show, past the lines of frontends and operator libraries.

Note [The user's line]
    A step keeps the innermost code that is neither the dispatcher's, nor of the package of the tensors' frontend or of the
    operator's library. It keeps the code object and an instruction's offset, because finding the line's number takes longer
    than recording the step.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from dispatch_core.arrays.frontend import FRONTENDS
from dispatch_core.discovery import loader
from dispatch_core.tracebacks import GENERATED

if TYPE_CHECKING:
    from types import CodeType

_FOLDER: Final = str(__file__).rpartition("dispatch_pipelines")[0]
#: How the names of generated files and of the dispatcher's own begin.
_FILES: Final = (
    GENERATED,
    "<autograd",
    *(f"{_FOLDER}{name}{os.sep}" for name in ("dispatch_core", "dispatch_pipelines")),
)


def is_internal(file: str) -> bool:
    """Return whether a file of code is the dispatcher's, or of the package of a frontend or an installed plugin.

    >>> is_internal(__file__), is_internal("train.py")
    (True, False)
    """
    if file.startswith(_FILES):
        return True
    packages = _packages()
    modules = list(sys.modules.items())
    if not file.endswith(".py"):  # a package's table of expressions
        folders = [folder for name in packages for folder in getattr(sys.modules.get(name), "__path__", ())]
        return file.startswith(tuple(f"{folder}{os.sep}" for folder in folders))
    return any(
        name.partition(".")[0] in packages and getattr(module, "__file__", None) == file for name, module in modules
    )


def _packages() -> set[str]:
    from dispatch_core.surroundings.distributions import BACKENDS, OPERATORS  # asked once for each file of code

    claims = loader().catalog.scan.claims
    found = {claim.module.partition(".")[0] for claim in claims if claim.group in (BACKENDS, OPERATORS)}
    for frontend in list(FRONTENDS.values()):
        name = frontend.tensor_type.__module__.partition(".")[0]
        # A tensor class may stand in the user's own script, or in a folder that is not a package of its own.
        module = sys.modules.get(name)
        if hasattr(module, "__path__") and getattr(module, "__file__", None) is not None:
            found |= {name, getattr(module, "__package__", None) or name}  # a package can have a second name
    return found


class _Inside(dict[str, bool]):
    """File of a code → whether it is the dispatcher's own, a frontend's or a plugin's, and not the user's."""

    def __missing__(self, file: str) -> bool:
        inside = self[file] = is_internal(file)
        return inside


INSIDE: Final = _Inside()


def caller_location() -> tuple[CodeType, int]:
    """Return the user's code that is calling, and the instruction in it."""
    frame = sys._getframe(1)
    # `recorder_source` writes this out.
    while INSIDE[frame.f_code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code, frame.f_lasti
