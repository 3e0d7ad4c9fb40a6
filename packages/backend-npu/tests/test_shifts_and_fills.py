"""Shifts by a number of places, and entries that are filled in place."""

import pytest

torchlike = pytest.importorskip("torchlike", reason="programs are torch's")

pytestmark = pytest.mark.usefixtures("npu")

INTEGERS = ("int64", "int32", "int16", "int8", "uint8")


def operators(simulator):
    """Return the functions that ran."""
    return [name for name in simulator.log() if name.startswith("aclnn") and not name.endswith("WorkspaceSize")]


def assert_like(found, expected):
    assert (found.shape, found.dtype, found.stride()) == (expected.shape, expected.dtype, expected.stride())
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("places", [0, 1, 3, 6, 7, 8, 31, 62, 63, 64, -1, True])
def test_shifts_by_a_number(dtype, places, host_calls):
    x = torchlike.tensor([[0, 1, 5], [100, 127, 64]], dtype=getattr(torchlike, dtype))
    signed = dtype != "uint8"
    for each in (x, x.t(), -x if signed else x[:1], x[:0], x[0, 1]):
        assert_like(each.to("npu") << places, each << places)
        assert_like(each.to("npu") >> places, each >> places)
        for shift in ("__ilshift__", "__irshift__"):
            ours, theirs = each.clone().to("npu"), each.clone()
            assert getattr(ours, shift)(places) is ours
            assert_like(ours, getattr(theirs, shift)(places))
    assert not host_calls()


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline runs them later")
def test_a_shift_is_one_function(simulator):
    x = torchlike.arange(6, device="npu")
    simulator.reset()
    _ = x << 3, x >> 2
    assert operators(simulator) == ["aclnnMuls", "aclnnFloorDivides"]


@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "float16", "float64", "bool"])
@pytest.mark.parametrize("value", [3, 1.5, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_entries_are_filled_in_place(dtype, value, dim, host_calls):
    x = torchlike.arange(24).reshape(2, 3, 4).to(getattr(torchlike, dtype))
    index = torchlike.tensor([1, 0, 1])
    for view in (lambda x: x, lambda x: x.transpose(0, 2), lambda x: x[:, 1:], lambda x: x[..., ::2]):
        for places in (index, index[0], index[:0], index.int()):
            for given in (value, torchlike.tensor(value)):
                ours, theirs = x.clone().to("npu"), x.clone()
                put = given.to("npu") if isinstance(given, torchlike.Tensor) else given
                expected = error = None
                try:
                    expected = view(theirs).index_fill_(dim, places, given)
                except (RuntimeError, IndexError) as raised:
                    error = raised
                if error is not None:
                    with pytest.raises(type(error)):
                        view(ours).index_fill_(dim, places.to("npu"), put)
                    continue
                assert_like(view(ours).index_fill_(dim, places.to("npu"), put), expected)
                assert_like(ours, theirs)
    assert not host_calls()


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline runs them later")
def test_filling_copies_nothing(simulator):
    x, index = torchlike.zeros(4, 3, device="npu"), torchlike.tensor([2, 0], device="npu")
    simulator.reset()
    x.index_fill_(1, index, 2.0)
    assert operators(simulator) == ["aclnnInplaceFillScalar", "aclnnIndexPutImpl"]
    assert x.tolist() == [[2, 0, 2]] * 4


def test_fills_that_are_refused():
    x, index = torchlike.zeros(4, 3, device="npu"), torchlike.tensor([2, 0], device="npu")
    with pytest.raises(IndexError, match="out of range"):
        x.index_fill_(2, index, 1)
    with pytest.raises((RuntimeError, IndexError)):
        x.index_fill_(0, index.reshape(1, 2), 1)
    with pytest.raises(RuntimeError):
        x.index_fill_(0, index, index)
    with pytest.raises(RuntimeError):
        x[:, :1].expand(4, 3).index_fill_(0, index, 1)
    one = torchlike.tensor(1.0, device="npu")
    assert one.index_fill_(0, torchlike.tensor([0], device="npu"), 5).item() == 5
