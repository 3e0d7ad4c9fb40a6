"""``dc.promote``: the dtype in which a vendor's arrays are computed together is that of the operator library's rule."""

import itertools

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_aten.promotion import result_type
from dispatch_aten.shapes import RULES, contiguous

DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
NUMBERS = (True, 3, 2.5, 1j)


def operands():
    for dtype in DTYPES:
        yield np.ones(2, dtype)
        yield np.ones((), dtype)
    yield from NUMBERS


def test_it_is_the_rule_s_for_pairs_and_triples():
    some = list(operands())
    rng = np.random.default_rng(0)
    triples = [[some[place] for place in rng.integers(0, len(some), 3)] for _ in range(500)]
    for chosen in [*itertools.product(some, repeat=2), *triples]:
        plain = [
            each if isinstance(each, (bool, int, float, complex)) else contiguous(each.shape, dc.dtype(each))
            for each in chosen
        ]
        assert dc.promote(*chosen) == result_type(*plain)


def test_it_is_the_dtype_of_a_sum():
    for one, other in itertools.product(DTYPES, repeat=2):
        arrays = np.ones(2, one), np.ones(3, other)[:2]
        metas = [contiguous(each.shape, dc.dtype(each)) for each in arrays]
        assert dc.promote(*arrays) == RULES["add.Tensor"](*metas).dtype


def test_nothing_to_promote_is_an_error():
    with pytest.raises(TypeError, match="at least one operand"):
        dc.promote()
