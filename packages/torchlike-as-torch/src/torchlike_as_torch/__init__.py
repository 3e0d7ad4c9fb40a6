"""Makes torchlike stand in for torch in every process whose environment has ``TORCHLIKE_AS_TORCH=1``.

The file ``torchlike_as_torch.pth`` beside this package imports it whenever Python starts. It imports only what Python has
imported by then, and torchlike not before a program imports torch.
"""

import os
import sys

__all__ = ["describe"]

_VARIABLE = "TORCHLIKE_AS_TORCH"


class _FirstImport:
    """Finds torch at its first import, or a package beside it, and makes torchlike stand in for torch.

    The finder of torchlike goes on from there.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        """Return torchlike's spec for torch and packages beside it, ``torch_acme``; None for other modules.

        Raises ``ImportError`` where torchlike cannot be imported.
        """
        if name != "torch" and not name.startswith("torch_"):
            return None
        value = os.environ.get(_VARIABLE, "")
        if value != "1":
            raise ImportError(f"{_VARIABLE} is {value!r}; it is 1, or 0 for torch itself", name=name)
        import torchlike

        torchlike.install_as_torch()
        sys.meta_path.remove(self)  # type: ignore[arg-type]  # a finder needs one method
        sys.modules.pop(name, None)  # Python would take the spec of a module that has come meanwhile: its file's
        specs = (each.find_spec(name, None) for each in sys.meta_path)
        return next((spec for spec in specs if spec is not None), None)


def describe() -> str:
    """Return whether it is on in this process, in words; `dispatch doctor` shows them."""
    if any(isinstance(each, _FirstImport) for each in sys.meta_path) or _has_begun():
        return f"on: import torch gives torchlike ({_VARIABLE}={os.environ.get(_VARIABLE)})"
    return f"off: import torch gives torch itself; {_VARIABLE}=1 lets torchlike stand in"


def _has_begun() -> bool:
    return "torch" in sys.modules and sys.modules["torch"] is sys.modules.get("torchlike")


if os.environ.get(_VARIABLE, "") not in ("", "0"):
    sys.meta_path.insert(0, _FirstImport())  # type: ignore[arg-type]  # as above
