"""Import a plugin's object so that a failure leaves ``sys.modules`` as it was."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager


def import_object(reference: str) -> object:
    """Import the object that an entry point's value names: ``module`` or ``module:object.attribute``.

    >>> import_object("os.path:join").__name__
    'join'
    """
    module, _, path = (part.strip() for part in reference.partition(":"))
    return functools.reduce(getattr, path.split(".") if path else [], importlib.import_module(module))


@contextmanager
def forget_on_failure(roots: Callable[[], Collection[str]]) -> Iterator[None]:
    """Remove from ``sys.modules``, if the block raises, its imports from the root packages that ``roots()`` names.

    Python drops only the module whose body raised, not the siblings that it had imported before; a later attempt would
    meet those half of a plugin. Modules of other packages stay: others may hold them by now.
    """
    before = set(sys.modules)
    try:
        yield
    except BaseException:
        gone = roots()
        for name in [name for name in sys.modules if name not in before and name.partition(".")[0] in gone]:
            module = sys.modules.pop(name)
            parent, _, child = name.rpartition(".")
            holder = sys.modules.get(parent)
            if holder is not None and vars(holder).get(child) is module:
                delattr(holder, child)
        raise
