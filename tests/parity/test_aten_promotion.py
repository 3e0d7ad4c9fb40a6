"""Type promotion against torch, exhaustively."""

import itertools

import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

from dispatch_aten.dtypes import FLOAT8, QUANTIZED, ScalarType  # noqa: E402  # after the skip
from dispatch_aten.promotion import Operand, can_cast, promote_types, result_type  # noqa: E402

PAIRS = list(itertools.product(ScalarType, repeat=2))


def torch_dtype(dtype):
    return getattr(torch, dtype.short)


def ours(dtype):
    return str(dtype).removeprefix("torch.")


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_promote_types_is_torchs_table(a, b):
    try:
        expected = ours(torch.promote_types(torch_dtype(a), torch_dtype(b)))
    except RuntimeError as error:
        with pytest.raises(RuntimeError, match=str(error)):
            promote_types(a, b)
    else:
        assert str(promote_types(a, b)) == expected


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_can_cast_is_torchs(a, b):
    assert can_cast(a, b) == torch.can_cast(torch_dtype(a), torch_dtype(b))


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_result_type_ranks_tensors_with_and_without_dimensions_and_numbers(a, b):
    # torch.zeros makes no quantized tensors.
    if {a, b} & {ScalarType.UInt16, ScalarType.UInt32, ScalarType.UInt64, ScalarType.ComplexHalf, *FLOAT8, *QUANTIZED}:
        return
    wide, bare = torch.zeros(2, dtype=torch_dtype(a)), torch.zeros((), dtype=torch_dtype(b))
    assert str(result_type(Operand.with_dims(a), Operand.zero_dim(b))) == ours(torch.result_type(wide, bare))
    for number in (True, 3, 2.5, 1j):
        assert str(result_type(Operand.with_dims(a), number)) == ours(torch.result_type(wide, number))
        assert str(result_type(Operand.zero_dim(b), number)) == ours(torch.result_type(bare, number))


def test_scalar_types_have_torchs_properties():
    for dtype in ScalarType:
        theirs = torch_dtype(dtype)
        assert dtype.is_floating_point == theirs.is_floating_point
        assert dtype.is_complex == theirs.is_complex
        if not dtype.is_quantized:  # torch answers for none of these
            assert dtype.is_signed == theirs.is_signed
        assert dtype.itemsize == theirs.itemsize
