"""Dropout's kernels give the bits of the composites, and leave the generator where these do."""

from __future__ import annotations

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_aten.decompositions import EXPLICIT

dc.device_key("cpu")  # loads the backend
LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.T,
    "steps": lambda x: x[:, ::2],
    "expanded": lambda x: np.broadcast_to(x[:1], x.shape),
    "number": lambda x: np.asarray(x[0, 0]),
    "nothing": lambda x: x[:0],
}


def outcome(function, *arguments):
    torchlike.manual_seed(3)
    try:
        found = function(*arguments)
    except (RuntimeError, TypeError, ValueError) as error:
        return type(error), str(error)
    found = found if isinstance(found, tuple) else (found,)
    looks = [(each.dtype, each.shape, each.strides if each.size else None, each.tobytes()) for each in found]
    return looks, torchlike.rand(2).tolist()


@pytest.mark.no_pipeline(reason="a call on raw arrays gives a value that is not an array yet")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "complex64"])
def test_kernels_give_what_the_composites_give(layout, dtype):
    x = LAYOUTS[layout]((np.random.default_rng(0).standard_normal((4, 6)) * 9).astype(dtype))
    mask = LAYOUTS[layout](np.random.default_rng(1).random((4, 6)) > 0.5)
    calls = [("native_dropout", x, p, train) for p in (0.3, 0.0, 1.0, -0.5, 1.5) for train in (True, None, False)]
    for name, *arguments in (*calls, ("native_dropout_backward", x, mask, 1.25)):
        assert outcome(dc.registry.get(f"aten::{name}").op, *arguments) == outcome(EXPLICIT[name], *arguments), (
            arguments
        )
