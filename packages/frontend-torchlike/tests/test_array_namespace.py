"""The array API standard's namespace: what libraries that ask a tensor for it rely on."""

from __future__ import annotations

import subprocess
import sys

import pytest

import torchlike as t
from torchlike import array_api as xp


def test_a_tensor_names_its_namespace():
    x = t.ones(2)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2022.12") is xp
    with pytest.raises(ValueError, match=r"no array API of version '2019.01'\nHint: there are 2021.12, "):
        x.__array_namespace__(api_version="2019.01")


def test_importing_torchlike_does_not_import_the_namespace():
    code = "import sys, torchlike; torchlike.ones(2) + 1; assert 'torchlike_array_api' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_tensors_without_dimensions_promote_as_others_do():
    single, double = t.ones(2), t.tensor(1.0, dtype=t.float64)
    assert (xp.add(single, double).dtype, (single + double).dtype) == (t.float64, t.float32)


def test_unsigned_integers_promote_by_the_standard():
    x, y = t.tensor([1], dtype=t.uint16), t.tensor([-2], dtype=t.int16)
    assert xp.multiply(x, y).dtype is t.int32
    with pytest.raises(TypeError, match=r"no integer dtype holds the values of uint64 and int8\nHint: cast one"):
        xp.add(t.tensor([1], dtype=t.uint64), t.tensor([1], dtype=t.int8))


def test_unsigned_integers_promote_with_other_kinds():
    x = t.tensor([1], dtype=t.uint32)
    others = [t.bool, t.float32, t.complex64]
    assert [xp.result_type(x, other) for other in others] == [t.uint32, t.float32, t.complex64]
    assert xp.can_cast(t.bool, t.uint16)
    assert not xp.can_cast(t.uint64, t.int64)
    assert xp.add(x, t.tensor([1j])).tolist() == [1 + 1j]


@pytest.mark.parametrize("value", ["a", None, [1.0], object()])
def test_an_operand_that_is_neither_a_tensor_nor_a_number_is_refused(value):
    with pytest.raises(
        TypeError, match=f"expected a tensor, a dtype or a number, got {type(value).__name__}\nHint: use"
    ):
        xp.add(t.ones(1), value)


def test_gradients_pass_through_the_standards_functions():
    x = t.tensor([1.0, -2.0, 3.0], requires_grad=True)
    loss = xp.sum(xp.clip(xp.multiply(x, x), 0, 5)) + xp.mean(xp.take(x, t.tensor([0, 0])))
    loss.backward()
    assert x.grad.tolist() == [3.0, -4.0, 0.0]


def test_results_stay_on_the_operands_device():
    x = t.ones(2, 3, device="meta")
    for found in (xp.add(x, 1), xp.zeros_like(x), xp.sum(x, axis=0), xp.concat([x, x]), xp.expand_dims(x, axis=(0, 3))):
        assert found.device.type == "meta"


def test_a_tensor_moves_to_a_device_and_has_no_streams():
    x = t.ones(2)
    assert x.to_device("cpu") is x
    assert x.to_device("meta").is_meta
    with pytest.raises(ValueError, match="stream=3"):
        x.to_device("cpu", stream=3)


def test_devices_are_the_default_one_and_those_in_use():
    info = xp.__array_namespace_info__()
    t.ones(1)
    assert info.default_device() == t.device("cpu")
    assert info.devices()[0] == t.device("cpu")
    assert "meta" not in {device.type for device in info.devices()}


def test_each_nan_is_distinct_and_equal_numbers_are_counted():
    found = xp.unique_all(t.tensor([[2.0, float("nan")], [float("nan"), 2.0]]))
    assert str(found.values.tolist()) == "[2.0, nan, nan]"
    assert (found.counts.tolist(), found.indices.tolist()) == ([2, 1, 1], [0, 1, 2])
    assert found.inverse_indices.shape == (2, 2)
    assert xp.unique_counts(t.ones(0)).counts.tolist() == []


def test_membership_is_inverted():
    assert xp.isin(t.tensor([1, 2]), 2, invert=True).tolist() == [True, False]


def test_signs_and_quotients_of_what_is_no_finite_number_are_the_standards():
    inf, nan = float("inf"), float("nan")
    assert str(xp.sign(t.tensor([nan, -0.0, -inf])).tolist()) == "[nan, 0.0, -1.0]"
    assert xp.floor_divide(t.tensor([inf, -inf, 3.0]), t.tensor([2.0, 2.0, inf])).tolist() == [inf, -inf, 0.0]
    assert str(xp.expm1(t.tensor([complex(-0.0, 0.0), complex(inf, 0.0)])).tolist()) == "[0j, (inf+0j)]"
    assert str(xp.remainder(t.tensor([-0.0, 0.0]), t.tensor([2.0, -2.0])).tolist()) == "[0.0, -0.0]"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: xp.sum(x, axis=2), "axis 2 is out of range for 2 dimensions"),
        (lambda x: xp.sum(x, axis=(0, -2)), r"an axis is named twice in \(0, -2\)"),
        (lambda x: xp.squeeze(x, 0), "squeeze: axis 0 has size 2, not 1"),
        (lambda x: xp.take(x, t.tensor([0])), "take: axis is required for a tensor of 2 dimensions"),
        (xp.cumulative_sum, "cumulative_sum: axis is required for a tensor of 2 dimensions"),
        (lambda x: xp.nonzero(x[0, 0]), "nonzero: a tensor without dimensions has no positions"),
        (lambda x: xp.matrix_transpose(x[0]), "matrices have at least 2 dimensions, not 1"),
        (lambda x: xp.reshape(x.mT, (6,), copy=False), "view size is not compatible"),
        (lambda x: xp.broadcast_shapes((2,), (3,)), "Shape mismatch|broadcast"),
        (lambda x: xp.isdtype(x.dtype, "complex"), "unknown kind of dtypes 'complex'\nHint: the kinds are 'bool'"),
        (lambda x: xp.isdtype(x.dtype, 3), "a kind is a dtype, a name or a tuple of them, not int"),
        (lambda x: xp.result_type(), "at least one tensor, dtype or number is required"),
        (lambda x: xp.clip(xp.astype(x, xp.int32), 0.5), "int32 elements cannot hold bounds of float32\nHint"),
        (lambda x: xp.linalg.vecdot(x, x[:, :1]), "vecdot: vectors of 3 and 1 elements"),
        (lambda x: xp.linalg.cross(x[:, :2], x[:, :2]), "cross: vectors have 3 elements, not 2 and 2"),
    ],
)
def test_faults_name_the_argument(call, text):
    with pytest.raises((ValueError, TypeError, IndexError), match=text):
        call(t.ones(2, 3))
