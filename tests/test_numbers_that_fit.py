"""A number that a dtype cannot hold is never written: the shape rules refuse it wherever the call is made."""

import math
from contextlib import nullcontext

import numpy as np
import pytest

import dispatch_core as dc
import torchlike as tl
from dispatch_aten.errors import OperatorError

pytestmark = pytest.mark.no_pipeline(reason="the tests open pipelines of their own")

WRITES = {
    "fill": tl.fill,
    "fill_": lambda x, n: x.fill_(n),
    "full": lambda x, n: tl.full((2,), n, dtype=x.dtype, device=x.device),
    "full.out": lambda x, n: tl.full((3,), n, out=x),
    "full_like": tl.full_like,
    "new_full": lambda x, n: x.new_full((2,), n),
    "masked_fill": lambda x, n: x.masked_fill(tl.ones(3, dtype=tl.bool, device=x.device), n),
    "masked_fill_": lambda x, n: x.masked_fill_(tl.ones(3, dtype=tl.bool, device=x.device), n),
    "scatter": lambda x, n: x.scatter(0, tl.zeros(1, dtype=tl.int64, device=x.device), n),
    "scatter_": lambda x, n: x.scatter_(0, tl.zeros(1, dtype=tl.int64, device=x.device), n),
}
NUMBERS = {
    tl.uint8: (256, -256, 300, -0.5, 255.9, math.inf, math.nan, 1j),
    tl.int32: (2**31, -(2**31) - 1, 2**40, 1e10, -math.inf, math.nan, complex(1e300, 0)),
    tl.int64: (1e300, math.inf, math.nan),
    tl.float16: (65505, 65520.0, -1e300, 1j),
    tl.float32: (3.4028235e38, 1e300, -1e300, 2j),
    tl.complex64: (1e300, 1e300j),
}


@pytest.mark.parametrize("where", ["eager", "pipeline", "meta"])
@pytest.mark.parametrize("name", WRITES)
def test_a_number_that_does_not_fit_is_refused_at_its_line_and_nothing_is_written(name, where):
    for dtype, numbers in NUMBERS.items():
        for number in numbers:
            with dc.pipeline() if where == "pipeline" else nullcontext():
                x = tl.ones(3, dtype=dtype, device="meta" if where == "meta" else "cpu")
                with pytest.raises(OperatorError, match=r"cannot be converted to type .* without overflow"):
                    WRITES[name](x, number)
            if where != "meta":
                assert x.tolist() == [1, 1, 1], f"{dtype}, {number!r}"


@pytest.mark.parametrize("name", WRITES)
def test_the_greatest_numbers_are_written(name):
    for dtype, kind in ((tl.uint8, np.uint8), (tl.int32, np.int32), (tl.int64, np.int64)):
        for number in (np.iinfo(kind).max, np.iinfo(kind).min):
            assert WRITES[name](tl.ones(3, dtype=dtype), int(number))[0].item() == number
    for dtype, kind in ((tl.float16, np.float16), (tl.float32, np.float32), (tl.float64, np.float64)):
        for number in (np.finfo(kind).max, np.finfo(kind).min, math.inf, -math.inf):
            assert WRITES[name](tl.ones(3, dtype=dtype), float(number))[0].item() == number
    assert math.isnan(WRITES[name](tl.ones(3), math.nan)[0].item())
    assert WRITES[name](tl.ones(3, dtype=tl.uint8), -1)[0].item() == 255
    assert WRITES[name](tl.ones(3, dtype=tl.bool), 1j)[0].item() is True


@pytest.mark.parametrize("index", [slice(1, 3), slice(None), ..., None, (slice(None), 0), (), slice(0, 3)], ids=repr)
@pytest.mark.parametrize("where", ["eager", "pipeline"])
def test_a_number_is_not_written_through_an_index_to_elements_that_share_memory(index, where):
    with dc.pipeline() if where == "pipeline" else nullcontext():
        shared = tl.ones(2).expand(3, -1)
        with pytest.raises(OperatorError, match="single memory location"):
            shared[index] = 2
        shared[0] = 3
        shared[1:2] = 4
    assert shared.tolist() == [[4, 4]] * 3


def test_an_index_writes_a_half_of_any_number():
    half = tl.ones(3, dtype=tl.float16)
    half[0] = 7e4
    half[1:] = -1e300
    assert half.tolist() == [math.inf, -math.inf, -math.inf]
