"""dtypes as users meet them: values of their own, in arguments, texts, errors and pipelines."""

import contextlib
import copy
import pickle

import pytest

import dispatch_core as dc
import torchlike
from torchlike import tensor

DTYPES = sorted(set(torchlike.values.dtypes.DTYPES.values()), key=str)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_tensor_prints_its_dtype_as_the_dtype_prints_itself(dtype):
    assert repr(dtype) == f"torchlike.{dtype}"
    assert eval(repr(dtype), {"torchlike": torchlike}) is dtype
    text = repr(torchlike.zeros(2, device="meta", dtype=dtype))
    assert (f"dtype={dtype!r}" in text) == (dtype is not torchlike.float32)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_keep_their_dtype_through_copies_and_pickles(dtype):
    made = torchlike.zeros(2, device="meta", dtype=dtype)
    assert pickle.loads(pickle.dumps(made)).dtype is copy.deepcopy(made).dtype is dtype


@pytest.mark.parametrize("recorded", [False, True])
def test_a_schemas_number_reaches_the_operator_as_a_dtype(recorded):
    with torchlike.pipeline() if recorded else contextlib.nullcontext():
        made = torchlike.randint(5, (3,)), torchlike.randperm(3), torchlike.randint(5, (3,), device="meta")
    assert [each.dtype for each in made] == [torchlike.int64] * 3


def test_a_custom_operator_gets_the_dtype_for_the_number_of_its_schema():
    got = []
    with dc.Library("dtypes_test", "FRAGMENT") as library:
        library.define("kind(Tensor x, ScalarType a=6, ScalarType? b=long) -> Tensor")
        library.impl("kind", lambda x, a, b: got.append((a, b)) or x.clone(), "CompositeExplicitAutograd")
        dc.ops.dtypes_test.kind(torchlike.ones(1))
        dc.ops.dtypes_test.kind(torchlike.ones(1), torchlike.int8, None)
        dc.ops.dtypes_test.kind(torchlike.ones(1), bool, float)
        with pytest.raises(TypeError, match=r"argument 'a' \(position 2\) must be torchlike.dtype, not int"):
            dc.ops.dtypes_test.kind(torchlike.ones(1), 7)
    assert got == [
        (torchlike.float32, torchlike.int64),
        (torchlike.int8, None),
        (torchlike.bool, torchlike.float64),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: torchlike.zeros(torchlike.float32),
        lambda: torchlike.zeros(3) + torchlike.float32,
        lambda: torchlike.zeros(3, dtype=6),
        lambda: torchlike.zeros(3).sum(torchlike.float32),
        lambda: torchlike.full((2,), torchlike.float32),
        lambda: torchlike.ones(3)[torchlike.float32],
    ],
)
def test_errors_call_dtypes_what_users_call_them(wrong):
    with pytest.raises((TypeError, IndexError), match=r"torchlike\.dtype"):
        wrong()


def test_a_view_by_dtype_shares_the_bytes():
    a = torchlike.zeros(2, 6, dtype=torchlike.int32)
    b = a.view(torchlike.float32)
    b[1, 0] = 1.0
    assert a[1, 0].item() == 0x3F800000
    assert [tuple(a[1:].view(dtype).shape) for dtype in (torchlike.int8, torchlike.float64)] == [(1, 24), (1, 3)]
    assert a[1:].view(torchlike.int16).storage_offset() == 12
    with pytest.raises(RuntimeError, match=r"self.stride\(-1\) must be 1 to view Int as Byte"):
        a.T.view(torchlike.uint8)


def test_type_takes_the_names_that_it_gives():
    for dtype in DTYPES:
        made = torchlike.zeros(2, device="meta", dtype=dtype)
        assert tensor([1]).type(made.type()).dtype is dtype
        assert tensor([1]).type(made.type()).device.type == "meta"
        legacy = getattr(torchlike, f"{dtype.name}Tensor", None)
        assert legacy is None or tensor([1]).type(legacy, non_blocking=True).dtype is dtype
    for name in "nonsense", "double", "DoubleTensor", "torchlike.float64", "torchlike.NonsenseTensor":
        with pytest.raises(ValueError, match="invalid type"):
            tensor([1]).type(name)


def test_dtypes_and_schemes_of_quantized_tensors_are_torchs():
    for name, number, bounds in (
        ("qint8", 12, (-128, 127)),
        ("quint8", 13, (0, 255)),
        ("qint32", 14, (-(2**31), 2**31 - 1)),
    ):
        dtype = getattr(torchlike, name)
        assert isinstance(dtype, torchlike.dtype) and dtype.value == number and repr(dtype) == f"torchlike.{name}"
        assert pickle.loads(pickle.dumps(dtype)) is copy.deepcopy(dtype) is dtype.to_real() is dtype
        assert (torchlike.iinfo(dtype).min, torchlike.iinfo(dtype).max) == bounds
        assert not (dtype.is_floating_point or dtype.is_complex or dtype.is_integral)
        with pytest.raises(TypeError, match="finfo"):
            torchlike.finfo(dtype)
        with pytest.raises(RuntimeError, match="promoteTypes with quantized numbers"):
            torchlike.promote_types(dtype, torchlike.float32)
    for name in "per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric".split():
        scheme = getattr(torchlike, name)
        assert isinstance(scheme, torchlike.qscheme) and repr(scheme) == f"torchlike.{name}"
        assert pickle.loads(pickle.dumps(scheme)) is copy.deepcopy(scheme) is scheme
    with pytest.raises(TypeError, match="cannot create"):
        torchlike.qscheme()
