"""Arrays of JAX, torch, array-api-strict and Dask as tensors, and tensors as theirs."""

from __future__ import annotations

import array_api_strict
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import torchlike

DTYPES = ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32", "complex64")


@pytest.mark.parametrize("name", DTYPES)
def test_jax_arrays_and_tensors_change_places(name):
    theirs = jnp.asarray([0, 1, 1], dtype=name)
    for ours in (torchlike.tensor(theirs), torchlike.asarray(theirs), torchlike.from_dlpack(theirs)):
        assert (ours.dtype.short, ours.device.type, ours.tolist()) == (name, "cpu", [0, 1, 1])
    back = jnp.from_dlpack(torchlike.tensor(theirs))
    assert (back.dtype.name, back.shape) == (name, (3,))
    assert bool((back == theirs).all())


def test_jax_makes_arrays_of_tensors_and_tensors_take_its_indices():
    ours = torchlike.arange(4, dtype=torchlike.int32)
    assert jnp.asarray(ours).dtype == "int32"
    assert jnp.array([ours[1], ours[2]]).tolist() == [1, 2]
    assert ours[jnp.asarray([0, 3])].tolist() == [0, 3]
    assert ours[ours > 1][jnp.asarray([True, False])].tolist() == [2]
    assert torchlike.tensor([jnp.asarray(1.5), 2]).tolist() == [1.5, 2.0]


def test_memory_of_jax_is_shared():
    theirs = jnp.ones(4)
    assert torchlike.from_dlpack(theirs).data_ptr() == theirs.unsafe_buffer_pointer()
    assert torchlike.tensor(theirs).data_ptr() != theirs.unsafe_buffer_pointer()


def test_tensors_on_the_device_jax_are_handed_on_where_they_are():
    ours = torchlike.ones(2, 3, device="jax") * 2
    assert ours.__dlpack_device__() == (1, 0)
    theirs = jnp.from_dlpack(ours)
    assert theirs.shape == (2, 3)
    assert np.from_dlpack(ours).tolist() == [[2, 2, 2]] * 2
    assert torchlike.from_dlpack(theirs, device="jax").device.type == "jax"
    view = ours[0]
    ours.add_(1)
    assert jnp.from_dlpack(view).tolist() == [3, 3, 3]
    with pytest.raises(BufferError, match="require gradient"):
        torchlike.ones(2, device="jax", requires_grad=True).__dlpack__()


def test_a_tensor_waiting_in_a_pipeline_is_computed_for_jax():
    with torchlike.pipeline():
        assert jnp.from_dlpack(torchlike.ones(2) + 1).tolist() == [2, 2]
        assert jnp.from_dlpack(torchlike.ones(2, device="jax") + 1).tolist() == [2, 2]


TORCH = (
    *DTYPES,
    "int64",
    "float64",
    "complex128",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e5m2fnuz",
    "float8_e4m3fnuz",
)


@pytest.mark.parametrize("name", TORCH)
def test_torch_tensors_and_ours_share_memory_both_ways(name):
    theirs = torch.tensor([0, 1, 1]).to(getattr(torch, name))
    ours = torchlike.from_dlpack(theirs)
    assert (ours.dtype.short, ours.data_ptr()) == (name, theirs.data_ptr())
    back = torch.from_dlpack(ours)
    assert (back.dtype, back.data_ptr()) == (theirs.dtype, theirs.data_ptr())
    copy = torchlike.tensor(theirs)
    assert (copy.dtype, copy.data_ptr() == ours.data_ptr()) == (ours.dtype, False)
    assert torchlike.as_tensor(theirs).data_ptr() == theirs.data_ptr()


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: torch.ones(2, requires_grad=True), BufferError, "require gradient"),
        (lambda: torch.ones(2, device="meta"), ValueError, "meta"),
        (lambda: torch.ones(2).to_sparse(), BufferError, "layout"),
        (lambda: torch.ones(2, dtype=torch.complex64).conj(), BufferError, "conjugate"),
    ],
)
def test_tensors_that_torch_does_not_export_are_refused_in_its_words(make, error, text):
    with pytest.raises(error, match=text):
        torchlike.tensor(make())


def test_sequences_of_other_libraries_arrays_are_joined():
    for kind in (torch.tensor, jnp.asarray, array_api_strict.asarray):
        assert torchlike.tensor([kind([1, 2]), kind([3, 4])]).tolist() == [[1, 2], [3, 4]]


def test_layouts_come_and_go():
    theirs = torch.arange(24.0).reshape(2, 3, 4)
    for view in (theirs.mT, theirs[:, 1], theirs[..., ::2], theirs[0, 0, 0], theirs.expand(3, 2, 3, 4)):
        ours = torchlike.from_dlpack(view)
        assert (ours.tolist(), tuple(ours.shape), ours.stride()) == (view.tolist(), tuple(view.shape), view.stride())
        assert torch.from_dlpack(ours).tolist() == view.tolist()
    assert torchlike.from_dlpack(theirs[:0]).shape == (0, 3, 4)


def test_exports_have_the_versions_and_copies_that_are_asked_for():
    x = torchlike.ones(3)
    assert jax.dlpack.from_dlpack(x, copy=True).tolist() == [1, 1, 1]
    assert torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert np.from_dlpack(x, copy=False).ctypes.data == x.data_ptr()
    read_only = torchlike.from_numpy(np.broadcast_to(np.float32(1), (3,)))
    assert not np.from_dlpack(read_only).flags.writeable
