"""Files of tensors and of programs' data beside them (source: ``torch.save``, ``torch.load``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""


from .entry import load as load
from .entry import save as save
from .classes import add_safe_globals as add_safe_globals
from .classes import clear_safe_globals as clear_safe_globals
from .classes import get_safe_globals as get_safe_globals
from .classes import safe_globals as safe_globals
from . import classes as classes
__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]
