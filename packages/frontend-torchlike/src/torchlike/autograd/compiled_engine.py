"""The engine of backward in compiled code, where dispatch-calls-native is installed.

It walks the graph, runs the nodes and passes gradients on in the order of `engine`, which is its definition. What a node
computes is the node's ``apply`` in Python; hooks, gradients that do not fit, and leaves that have a gradient or need a copy
are left to the functions of `engine` and `accumulation`. Backward that is recorded or checked for anomalies runs in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dispatch_core.frontends import CAPTURING, make_backward

from ..history.grad_mode import recording_mode
from ..history.metadata import is_plain
from ..history.node import Leaf, Node, Output
from .accumulation import accumulate, accumulating, add_gradients
from .rules.kernels import release_saved, release_values

#: How the usual nodes free their saved tensors: the attribute that is None then. Others are called.
_RELEASES: Final = {
    Node.release: None,
    release_saved: "saved",
    release_values: "values",
}


def make_compiled(**functions: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the compiled engine, which calls the given functions of the one in Python; None where there is none."""
    return make_backward(
        leaf=Leaf,
        output=Output,
        array=np.ndarray,
        plain=is_plain,
        add=add_gradients,
        accumulate=accumulate,
        capturing=CAPTURING,
        lock=accumulating,
        releases=_RELEASES,
        mode=recording_mode,
        **functions,
    )
