"""Tensors as text, against torch 2.13's text for the same elements."""

import pytest

import torchlike
from torchlike import tensor
from torchlike.tensors import printing

RECORDED = [
    ([[1.0, 2.0], [3.0, 4.0]], "tensor([[1., 2.],\n        [3., 4.]])"),
    ([1.5, -2.25], "tensor([ 1.5000, -2.2500])"),
    ([1e-5, 1.0], "tensor([1.0000e-05, 1.0000e+00])"),
    ([1e9, 1.0], "tensor([1.0000e+09, 1.0000e+00])"),
    ([float("inf"), float("nan"), 1.0], "tensor([inf, nan, 1.])"),
    ([0.0, 0.0], "tensor([0., 0.])"),
    ([True, False], "tensor([ True, False])"),
    ([1, -20, 300], "tensor([  1, -20, 300])"),
    (3.0, "tensor(3.)"),
    ([], "tensor([])"),
    ([[], []], "tensor([], size=(2, 0))"),
    ([1 + 2j, -0.5j], "tensor([1.+2.0000j, -0.-0.5000j])"),
]


@pytest.mark.parametrize(("data", "text"), RECORDED, ids=[text.partition("\n")[0] for _, text in RECORDED])
def test_elements_are_laid_out_as_by_torch(data, text):
    assert repr(tensor(data)) == text


def test_dtype_device_and_history_are_noted():
    assert repr(tensor([1.0], dtype=torchlike.float64)) == "tensor([1.], dtype=torchlike.float64)"
    assert repr(tensor([1], dtype=torchlike.int32)) == "tensor([1], dtype=torchlike.int32)"
    x = tensor([1.0], requires_grad=True)
    assert repr(x) == "tensor([1.], requires_grad=True)"
    assert repr(x + x) == "tensor([2.], grad_fn=<AddBackward0>)"
    assert repr(torchlike.ones(2, 3, device="meta")) == "tensor(..., device='meta', size=(2, 3))"
    assert (
        repr(torchlike.ones(2, device="meta", dtype=torchlike.int64))
        == "tensor(..., device='meta', size=(2,), dtype=torchlike.int64)"
    )


def test_large_tensors_are_summarised():
    assert repr(torchlike.arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    text = repr(torchlike.zeros(40, 40))
    assert text.splitlines()[3] == "        ...,"
    assert text.splitlines()[0] == "tensor([[0., 0., 0.,  ..., 0., 0., 0.],"


def test_long_rows_are_wrapped_at_eighty_columns():
    lines = repr(torchlike.arange(50)).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith("        ")


def test_printoptions_are_taken_and_given_back():
    torchlike.set_printoptions(precision=2)
    try:
        assert repr(tensor([1.2345])) == "tensor([1.23])"
    finally:
        torchlike.set_printoptions(profile="default")
    assert repr(tensor([1.2345])) == "tensor([1.2345])"


def test_a_scalar_tensor_formats_as_its_number():
    assert f"{tensor(1.23456):.2f}" == "1.23"
    assert f"{tensor(1.5, requires_grad=True)} {tensor(True)} {tensor(2)}" == "1.5 True 2"
    assert f"{tensor([1.5])}" == "tensor([1.5000])"
    assert f"{torchlike.nn.Parameter(tensor(1.0))}".startswith("Parameter containing:")
    with pytest.raises(TypeError, match="unsupported format string"):
        format(tensor([1.5]), ".2f")


def test_a_view_that_has_no_history_any_more_is_shown():
    x = torchlike.ones(1, requires_grad=True)
    with torchlike.no_grad():
        view = x[:]
        view *= 2
    assert repr(view) == "tensor([2.], grad_fn=<Invalid>)"


def test_the_options_are_one_object_that_set_printoptions_changes():
    options = printing.PRINT_OPTS
    try:
        torchlike.set_printoptions(threshold=7, precision=2)
        assert (options.threshold, options.precision) == (7, 2)
        assert printing._tensor_str(torchlike.tensor([[1.5, 2.0]]), indent=0) == "[[1.50, 2.00]]"
        assert printing._tensor_str(torchlike.ones(0), 0) == "[]"
    finally:
        torchlike.set_printoptions(profile="default")
    assert options.threshold == 1000


def test_classes_of_parameters_are_named_as_by_torch():
    class Weight(torchlike.nn.Parameter):
        pass

    class Disabled(torchlike.Tensor):
        __torch_function__ = torchlike.nn.Parameter.__torch_function__

    weight = torchlike.nn.Parameter(torchlike.ones(2))
    assert torchlike.Tensor.__repr__(weight) == "tensor([1., 1.], requires_grad=True)"
    text = "Parameter(Weight([1., 1.], requires_grad=True))"
    assert torchlike.Tensor.__repr__(Weight(torchlike.ones(2))) == text
    assert repr(Weight(torchlike.ones(2))) == f"Parameter containing:\n{text}"
    assert repr(torchlike.ones(1).as_subclass(Disabled)) == "Disabled([1.])"
    assert repr(torchlike.nn.Buffer(torchlike.ones(1))) == "tensor([1.])"
