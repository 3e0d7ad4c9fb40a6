"""The kernels on raw arrays, and on tensors, of each library that is tested here."""

import re

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_core import inspection

DEVICES = ("strict", "jax", "torch", "cupy")


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def test_indices_out_of_range_are_refused(device):
    x = torchlike.arange(6, device=device)
    with pytest.raises(IndexError, match="index 6 is out of bounds for dimension 0 with size 6"):
        x[torchlike.tensor([0, 6], device=device)]


def test_a_number_wraps_around_in_small_integers(device):
    assert torchlike.full((2,), -1, dtype=torchlike.uint8, device=device).tolist() == [255, 255]


def test_sixty_four_bits_are_kept_and_the_program_of_jax_goes_on_as_it_was():
    jnp = pytest.importorskip("jax.numpy")
    x = torchlike.tensor([2**40, 1], device="jax") + 1
    assert x.tolist() == [2**40 + 1, 2]
    assert x.dtype == torchlike.int64
    assert jnp.arange(3).dtype == np.int32


@pytest.mark.parametrize("dtype", [torchlike.int8, torchlike.int64])
def test_integers_to_negative_powers_are_those_of_the_cpu(device, dtype):
    base, exponent = torchlike.arange(-3, 4, dtype=dtype)[:, None], torchlike.arange(-3, 3, dtype=dtype)
    there = [each.to(device) for each in (base, exponent)]
    for compute in (lambda a, b: a**b, lambda a, b: 3**b + a):
        assert compute(*there).tolist() == compute(base, exponent).tolist()


def test_bools_are_added_as_on_the_cpu(device):
    index, source = torchlike.tensor([0, 0, 2]), torchlike.tensor([False, True, False])
    found = torchlike.tensor([False, False, True, True], device=device).index_add(
        0, index.to(device), source.to(device)
    )
    assert found.tolist() == [True, False, True, True]


def test_quotients_that_are_rounded_to_zero_keep_their_sign(device):
    one, other = torchlike.tensor([0.0, -0.0, 0.5, -0.0]), torchlike.tensor([-2.0, 2.0, 4.0, -3.0])
    found = torchlike.div(one.to(device), other.to(device), rounding_mode="floor")
    assert found.signbit().tolist() == [True, True, False, False]


def test_transforms_of_no_elements_have_none(device):
    for name in ("fft", "ifft", "rfft", "irfft"):
        expected = getattr(torchlike.fft, name)(torchlike.ones(0, 6))
        found = getattr(torchlike.fft, name)(torchlike.ones(0, 6, device=device))
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


def test_operators_take_raw_arrays(device):
    x = torchlike.tensor([1.0, 4.0], device=device)._dispatch_data
    assert dc.ops.prims.device_get(dc.ops.aten.sqrt(x)).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_combined_operators_compute_as_their_parts(device, dtype):
    kind = getattr(torchlike, dtype)
    a, b, c = (torchlike.tensor([[1.5, -2.0, 3.0], [4.0, 0.5, 6.0]]).to(kind) * each + 1 for each in (1, 2, 3))

    def compute(a, b, c):
        for value in (1, 2) if dtype == "int64" else (1, 0.3):
            yield torchlike.addcmul(a, b[0], c, value=value)
            yield torchlike.addcdiv(a.double(), b.double(), c.double(), value=value)
            yield torchlike.addcmul(a, b, c[0, 0], value=value)
        yield torchlike.lerp(a.double(), b.double(), 0.75)

    for mine, other in zip(compute(*(each.to(device) for each in (a, b, c))), compute(a, b, c), strict=True):
        assert mine.dtype == other.dtype
        np.testing.assert_allclose(mine.cpu().numpy(), other.numpy(), rtol=1e-6)


def test_kernels_are_named_by_the_function_that_computes(device):
    torchlike.empty(0, device=device)
    key, entries = dc.device_key(device), inspection.the_registry(None).entries.values()
    found = [inspection.kernel_name(made.fn) for entry in entries if (made := entry.newest(key))]
    assert len(found) > 100
    assert [name for name in found if re.search("error_words|refusals|tracers", name)] == []
