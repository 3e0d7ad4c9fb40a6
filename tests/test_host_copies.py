"""Copies to the host are compared with the tensor: no shape rule describes the result of ``prims::device_get``."""

from __future__ import annotations

import pickle
from contextlib import nullcontext

import numpy as np
import pytest

import dispatch_core as dc
import torchlike

pytestmark = pytest.mark.usefixtures("frozen_backend")

MISTAKES = {
    "a dimension dropped": lambda array: array[0],
    "another dtype": lambda array: array.astype(np.float64),
    "a list": lambda array: array.tolist(),
    "nothing": lambda array: None,
}
READS = {
    "cpu": lambda x: x.cpu(),
    "tolist": lambda x: x.tolist(),
    "print": repr,
    "pickle": pickle.dumps,
    "to": lambda x: x.to("cpu", torchlike.float64),
}


@pytest.mark.parametrize("block", [nullcontext, torchlike.pipeline], ids=["eager", "pipeline"])
@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_wrong_copy_to_the_host_is_named(mistake, read, block):
    x = torchlike.ones(2, 3, device="frozen")
    expected = read(x)
    with dc.Library("prims", "IMPL", "Frozen") as library:
        with pytest.warns(dc.OverwriteWarning):
            library.impl("device_get", lambda self: mistake(self.array.copy()))
        with pytest.raises(dc.KernelResultError) as caught, block():
            read(x + 0)
    text = str(caught.value)
    assert text.startswith("prims::device_get: the result for a tensor float32")
    assert "on frozen is " in text and __file__ in text and "numpy.ndarray" in text
    assert type(read(x)) is type(expected)
