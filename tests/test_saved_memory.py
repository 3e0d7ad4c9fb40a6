"""Tensors that share memory share it after `load`, on every device: writes are seen in the same ones as before."""

import io
import itertools
import os
import random
import warnings
from importlib.util import find_spec

import pytest

import torchlike

#: How many sets of tensors are drawn for each device; more in a run of their own.
SETS = int(os.environ.get("SAVED_SETS", "8"))
SEED = int(os.environ.get("SAVED_SEED", "0"))
DTYPES = [torchlike.float32, torchlike.complex64]
DEVICES = ["cpu"] + [name for name, module in (("jax", "jax"), ("strict", "array_api_strict")) if find_spec(module)]


#: Each call takes the next format.
FORMATS = itertools.cycle(["torch", "safetensors", "torch"])


def save_and_load(value, location=None):
    file = io.BytesIO()
    torchlike.save(value, file, format=next(FORMATS))
    file.seek(0)
    return torchlike.load(file, map_location=location)


def draw(choose, device):
    """Return tensors of which some are views of others, by chains of views."""
    tensors = []
    for dtype in (torchlike.float32, torchlike.float32 if device == "npu" else choose.choice(DTYPES)):
        shape = [choose.randrange(2, 5) for _ in range(2)]
        tensors.append(torchlike.arange(shape[0] * shape[1], device=device).to(dtype).view(shape))
    for _ in range(choose.randrange(2, 6)):
        x = choose.choice(tensors)
        dim = choose.randrange(x.dim()) if x.dim() else 0
        views = [
            lambda x=x: x.t() if x.dim() == 2 else x.unsqueeze(0),
            lambda x=x, dim=dim: x.select(dim, x.shape[dim] - 1) if x.dim() else x,
            lambda x=x, dim=dim: x.narrow(dim, x.shape[dim] - 1, 1) if x.dim() else x,
            lambda x=x: x[..., ::2] if x.dim() else x,
            x.detach,
            lambda x=x: x.diagonal() if x.dim() == 2 else x.unsqueeze(-1),
            # Where arrays have no strides, no strides may describe a view of a view.
            lambda x=x: x.flatten() if x.is_contiguous() and (x._base is None or device in ("cpu", "npu")) else x,
            x.clone,
        ]
        if x.is_complex():
            views += [lambda x=x: x.real, lambda x=x: x.imag, lambda x=x: torchlike.view_as_real(x)]
        elif device != "npu" and x.is_contiguous() and x.dim() and x.shape[-1] == 2 and not x.storage_offset() % 2:
            views += [lambda x=x: torchlike.view_as_complex(x)]
        tensors.append(choose.choice(views)())
    choose.shuffle(tensors)
    return tensors


def write_in_turn(tensors):
    """Write to each tensor in turn, and return all values after each write."""
    seen = []
    for number, tensor in enumerate(tensors):
        tensor.fill_(100.0 + number)
        seen.append([each.tolist() for each in tensors])
    return seen


@pytest.mark.parametrize("device", DEVICES)
def test_drawn_sets_share_memory_after_load_as_before(device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # JAX compiles most calls.
        for seed in range(SEED, SEED + (SETS // 8 if device == "jax" else SETS)):
            choose = random.Random(seed)
            tensors = draw(choose, device)
            loaded = save_and_load(tensors)
            location = choose.choice(["cpu", DEVICES[-1]])
            there = [(location, save_and_load(tensors, location))]
            assert [each.device.type for each in loaded] == [device] * len(tensors)
            expected = write_in_turn(tensors)
            assert write_in_turn(loaded) == expected, seed
            for location, moved in there:
                assert {each.device.type for each in moved} == {location}
                assert write_in_turn(moved) == expected, (seed, location)


@pytest.mark.parametrize("device", DEVICES)
def test_parameters_and_state_dicts_stay_tied(device):
    model = torchlike.nn.Sequential(torchlike.nn.Linear(3, 3), torchlike.nn.Linear(3, 3)).to(device)
    model[1].weight = model[0].weight
    part = torchlike.nn.Parameter(model[0].bias.detach()[1:])
    loaded, found = save_and_load((model.state_dict(), part))
    assert isinstance(found, torchlike.nn.Parameter) and found.requires_grad
    with torchlike.no_grad():
        loaded["0.weight"].fill_(7)
        loaded["0.bias"].fill_(5)
    assert loaded["1.weight"].tolist() == [[7.0] * 3] * 3
    assert found.tolist() == [5.0, 5.0]


@pytest.mark.parametrize("device", DEVICES)
def test_clones_do_not_share_memory_after_load(device):
    x = torchlike.arange(4.0, device=device)
    one, other = save_and_load([x, x.clone()])
    one.fill_(3)
    assert other.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("turn", [list, lambda pair: pair[::-1]], ids=["whole first", "view first"])
@pytest.mark.parametrize(
    "view", [lambda x: x.real, lambda x: x.imag, torchlike.view_as_real], ids=["real", "imag", "pairs"]
)
def test_the_parts_of_complex_numbers_share_memory_after_load(device, turn, view):
    x = torchlike.ones(3, dtype=torchlike.complex64, device=device)
    for whole in (x, x[1:], x[::2]):
        pair = turn([whole, view(whole)])
        loaded = save_and_load(pair)
        assert [each.tolist() for each in loaded] == [each.tolist() for each in pair]
        assert write_in_turn(loaded) == write_in_turn(pair)


@pytest.mark.usefixtures("npu")
def test_views_on_an_npu_share_memory_after_load():
    for seed in range(SEED, SEED + SETS):
        tensors = draw(random.Random(seed), "npu")
        loaded = save_and_load(tensors)
        assert {each.device.type for each in loaded} == {"npu"}
        assert write_in_turn(loaded) == write_in_turn(tensors), seed
