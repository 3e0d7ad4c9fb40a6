"""Steps of optimizers for lists of parameters; without compiled kernels they are left to the operator library."""

from __future__ import annotations

from typing import Any, Final

import dispatch_core as dc

from ...kernel_table import Kernel
from ..support.compiled_kernels import LOOPS, native
from ..support.constants import NUMBERS


def _make(name: str) -> Kernel:
    """Return the compiled kernel of an operator of ``prims``, which leaves calls to the library's composite."""

    def compose(*args: Any, **kwargs: Any) -> None:
        dc.call_direct(f"prims::{name}_", "CompositeExplicitAutograd", *args, **kwargs)

    return native(name, compose, None, NUMBERS)


PRIMS: Final[dict[str, Kernel]] = {} if LOOPS is None else {f"{name}_": _make(name) for name in ("adam", "sgd")}
"""Kernels of the ``prims`` namespace."""
