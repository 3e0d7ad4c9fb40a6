"""The compiled front of calls, where dispatch-calls-native is installed.

Note [A compiled front]
    An overload, and a frontend's function of it, is a Python function. Where the front is installed, an object of it has the
    function's place: it serves plain calls of tensors, and hands every other call to the function, with the caller's own
    arguments and before anything was done. In everything but calls it is the function: attributes are that one's.

    Python stays the definition. The front is told how arguments are written by the signature and the adapter that the
    function is generated of, and what to do by the runner that the operator's own table has for the mask of the arguments.
    It asks the table at every call, and serves one only where the runner found there is the very object that it was told
    of. A runner whose results are still compared is Python's. Where the front does not know a runner, it calls it, as
    generated code does.

    The variable ``DISPATCH_NATIVE`` is read when the first operator is called for. Without the front there is one look for
    it, and nothing else.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

from ...surroundings.extensions import find_extension

LAYOUT: Final = 11
"""The number that the distribution has to carry, too: of the specs that plans and targets are made of."""
DISTRIBUTION: Final = "dispatch-calls-native"
#: The module, or None, and a sentence about it; empty before the first look.
_found: Final[list[tuple[ModuleType | None, str]]] = []


def find_front() -> Any:
    """Return the compiled module, or None where there is none or it is turned off; looked for once."""
    if not _found:
        _found.append(_look())
    return _found[0][0]


def describe_front() -> tuple[bool, str]:
    """Return whether the front is on, and a sentence about it, "" where it is not installed."""
    return find_front() is not None, _found[0][1]


def _look() -> tuple[ModuleType | None, str]:
    from ...devices import Device
    from ...keys import context

    return find_extension(
        DISTRIBUTION,
        "find_front",
        LAYOUT,
        "dispatch-core",
        lambda front: front.use(context._state, Device),
        on=f"the compiled front of {DISTRIBUTION} is on",
        off="the compiled front of calls is off",
    )
