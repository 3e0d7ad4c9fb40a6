"""What an ``output_mask`` leaves out is None for the caller: on every device, in every way to call, with every mask."""

import numpy as np
import pytest
from comparison import elements, ignore_warnings

import dispatch_core as dc
import torchlike
from dispatch_aten.operators import ATEN
from dispatch_aten.testing.drawing import MASKS
from dispatch_aten.testing.placing import map_arrays
from dispatch_aten.testing.samples import op_samples

pytestmark = pytest.mark.no_pipeline(reason="the calls open their own")
NAMES = [each.name for each in ATEN if "[3] output_mask" in each.schema and "(a!)" not in each.schema]


def in_pipeline(call):
    with dc.pipeline():
        call()
        found = call()
    return found


def replay(call):
    again = dc.capture(call)
    again()
    again()
    return again()


def trace(call):
    with dc.trace():
        return call()


def profile(call):
    with dc.profile():
        return call()


def many_times(call):
    for _ in range(40):
        call()
    return call()


def read(value):
    return elements(value.detach().cpu() if isinstance(value, torchlike.Tensor) else value)


WAYS = {each.__name__: each for each in (many_times, in_pipeline, replay, trace, profile)}


def calls_of(name, make):
    """Yield for each sample of an operator a function of a mask that calls it on tensors or arrays of ``make``."""
    op = getattr(dc.ops.aten, name).default
    for sample in op_samples(name):
        if not sample.change and sample.arguments["output_mask"] == list(MASKS[0]):
            arguments = map_arrays(sample.arguments, lambda array: make(array.astype("float32")))
            yield lambda mask, arguments=arguments: op(**arguments | {"output_mask": list(mask)})


def test_every_operator_with_a_mask_is_called():
    assert sorted(NAMES) == [
        "convolution_backward",
        "native_batch_norm_backward",
        "native_group_norm_backward",
        "native_layer_norm_backward",
    ]
    assert all(list(calls_of(name, np.asarray)) for name in NAMES)


MAKERS = {
    "array": lambda array: array,
    "cpu": torchlike.tensor,
    "cpu with history": lambda array: torchlike.tensor(array, requires_grad=True),
    "meta": lambda array: torchlike.tensor(array, device="meta"),
    "npu": lambda array: torchlike.tensor(array, device="npu"),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("device", MAKERS)
@pytest.mark.parametrize("name", NAMES)
def test_what_a_mask_leaves_out_is_none(request, name, device, way):
    if device == "npu":
        request.getfixturevalue("npu")
    if device == "array" and way is replay:
        pytest.skip("captured calls take tensors")
    for call in list(calls_of(name, MAKERS[device]))[:1]:
        expected = call(MASKS[0])
        assert None not in [type(each) for each in expected]
        for mask in MASKS:
            with ignore_warnings():
                found = way(lambda call=call, mask=mask: call(mask))
            assert isinstance(found, tuple)
            assert [each is not None for each in found] == list(mask)
            for each, other in zip(found, expected, strict=True):
                if each is not None and device != "meta":
                    np.testing.assert_allclose(read(each), read(other), 2e-5, 2e-5)
                    assert device == "array" or each.requires_grad is other.requires_grad


@pytest.mark.parametrize("mask", MASKS[1:])
def test_outputs_given_for_what_a_mask_leaves_out_are_refused(mask):
    x, weight, grad = torchlike.ones(2, 3, 5), torchlike.ones(4, 3, 2), torchlike.ones(2, 4, 4)
    outs = {f"out{index}": torchlike.full((3,), 7.0) for index in range(3)}
    options = [4], [1], [0], [1], False, [0], 1
    with pytest.raises(RuntimeError, match=r"output_mask leaves out the result that out\d is given for .*\nHint: "):
        dc.ops.aten.convolution_backward.out(grad, x, weight, *options, list(mask), **outs)
    assert all(each.tolist() == [7.0] * 3 for each in outs.values())


@pytest.mark.parametrize("count", [0, 2, 4])
def test_a_mask_has_an_element_for_each_result(count):
    x, weight, grad = torchlike.ones(2, 3, 5), torchlike.ones(4, 3, 2), torchlike.ones(2, 4, 4)
    with pytest.raises(TypeError, match=f"'output_mask' .* must be tuple of 3 bools, not of {count}"):
        dc.ops.aten.convolution_backward(grad, x, weight, [4], [1], [0], [1], False, [0], 1, [True] * count)
