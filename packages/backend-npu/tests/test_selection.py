"""Masks, whose number of true elements is read from the device."""

import numpy as np
import pytest

torchlike = pytest.importorskip("torchlike", reason="programs are torch's")

pytestmark = pytest.mark.usefixtures("npu")
npu = {"device": "npu"}

ARRAYS = {
    "floats": np.array([[0.0, 1.5, np.nan], [-0.0, 0.0, -2.0]], np.float32),
    "integers": np.array([[[1, 0], [0, 3]], [[0, 0], [5, 6]]]),
    "bytes": np.array([0, 2, 0, 255], np.uint8),
    "truth values": np.array([[True], [False], [True]]),
    "nothing found": np.zeros((3, 2)),
    "all found": np.ones((2, 2), np.int8),
    "empty": np.zeros((0, 3), np.float32),
    "no dimensions": np.array(3.0, np.float32),
    "zero": np.array(0),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_positions_are_the_cpu_s(name, host_calls):
    here = torchlike.from_numpy(ARRAYS[name])
    for view in (lambda x: x, lambda x: x.t() if x.ndim == 2 else x, lambda x: x[..., 1:] if x.ndim else x):
        expected, found = view(here).nonzero(), view(here.to("npu")).nonzero()
        assert (found.tolist(), found.stride(), found.dtype) == (expected.tolist(), expected.stride(), expected.dtype)
    assert not host_calls()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool"])
def test_selected_elements_are_the_cpu_s(dtype, host_calls):
    here = torchlike.arange(24).remainder(5).to(getattr(torchlike, dtype)).reshape(2, 3, 4)
    for mask in (
        here.remainder(2) == 0,
        torchlike.tensor([True, False, True, True]),
        torchlike.tensor([[True], [False], [True]]),
    ):
        for x in (here, here.transpose(0, 2).transpose(1, 2).contiguous().transpose(1, 2).transpose(0, 2)):
            expected, found = x.masked_select(mask), x.to("npu").masked_select(mask.to("npu"))
            assert found.tolist() == expected.tolist() and found.dtype == expected.dtype
            assert found.untyped_storage().nbytes() == expected.untyped_storage().nbytes()
    for mask in (torchlike.zeros(4, dtype=torchlike.bool), torchlike.ones(4, dtype=torchlike.bool)):
        assert here.to("npu").masked_select(mask.to("npu")).tolist() == here.masked_select(mask).tolist()
    one = here[0, 0, 1].to("npu")
    assert one.masked_select(torchlike.tensor(True, **npu)).shape == (1,)
    assert torchlike.zeros(0, 3, **npu).masked_select(torchlike.tensor([True, False, True], **npu)).shape == (0,)
    assert not host_calls()


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(RuntimeError, match="must match the size"):
        torchlike.zeros(3, **npu).masked_select(torchlike.zeros(2, dtype=torchlike.bool, **npu))
    with pytest.raises(RuntimeError, match="BoolTensor"):
        torchlike.zeros(3, **npu).masked_select(torchlike.zeros(3, **npu))


@pytest.mark.no_pipeline(reason="a pipeline refuses it where it ends")
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "bool"])
def test_scattered_elements_are_the_cpu_s(dtype, host_calls):
    kind = getattr(torchlike, dtype)
    source = torchlike.arange(30).remainder(7).to(kind).view(5, 6).t()
    for mask in (torchlike.arange(12).view(3, 4).remainder(3) == 0, torchlike.tensor([True, False, False, True])):
        for make in (lambda: torchlike.ones(3, 4, dtype=kind), lambda: torchlike.ones(4, 3, dtype=kind).t()):
            expected = make().masked_scatter_(mask, source)
            x = make().to("npu")
            assert x.masked_scatter_(mask.to("npu"), source.to("npu")) is x and x.tolist() == expected.tolist()
            assert make().to("npu").masked_scatter(mask.to("npu"), source.to("npu")).tolist() == expected.tolist()
    assert not host_calls()
    x, mask = torchlike.zeros(3, dtype=kind, **npu), torchlike.tensor([True, False, True], **npu)
    with pytest.raises(RuntimeError, match="Number of elements of source < number of ones in mask"):
        x.masked_scatter_(mask, torchlike.ones(1, dtype=kind, **npu))
    assert not x.any()
    with pytest.raises(RuntimeError, match="same dtypes"):
        x.masked_scatter_(mask, torchlike.ones(3, dtype=torchlike.float16, **npu))
    with pytest.raises(RuntimeError):
        x.masked_scatter_(torchlike.ones(2, 3, dtype=torchlike.bool, **npu), torchlike.ones(6, dtype=kind, **npu))


def test_a_selection_has_a_gradient():
    x = torchlike.arange(6.0, **npu).requires_grad_()
    (x.masked_select(x > 2) * 2).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 2, 2, 2]
    y = torchlike.arange(6.0, **npu).requires_grad_()
    y[y > 2].sum().backward()
    assert y.grad.tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline runs them later")
def test_one_number_is_read(simulator):
    x = torchlike.arange(1000.0, **npu)
    mask = x > 10
    for call in (lambda: x.masked_select(mask), lambda: x[mask], mask.nonzero, x.nonzero):
        call()
        simulator.reset()
        call()
        copies = [name for name in simulator.log() if name.startswith("aclrtMemcpy")]
        waits = [name for name in simulator.log() if name.startswith("aclrtSync")]
        assert (len(copies), len(waits)) == (1, 1)


@pytest.mark.of_functions
def test_the_gradient_of_silu_is_one_call(simulator):
    x = torchlike.linspace(-4, 4, 33, **npu)
    expected = torchlike.ops.aten.silu_backward(torchlike.ones(33), x.cpu())
    simulator.reset()
    found = torchlike.ops.aten.silu_backward(torchlike.ones(33, **npu), x)
    assert torchlike.allclose(found.cpu(), expected, atol=1e-6)
    assert "aclnnSiluBackward" in simulator.log()
