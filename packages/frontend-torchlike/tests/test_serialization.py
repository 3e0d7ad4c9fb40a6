"""Saving and loading state dicts as safetensors."""

import pytest

import torchlike
from torchlike import nn, tensor


def test_a_state_dict_round_trips(tmp_path):
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    path = tmp_path / "net.safetensors"
    torchlike.save(net.state_dict(), path)
    other = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    other.load_state_dict(torchlike.load(path))
    x = torchlike.ones(1, 3)
    assert torchlike.equal(net(x), other(x))


def test_dtypes_shapes_and_views_survive(tmp_path):
    path = tmp_path / "t.safetensors"
    saved = {
        "empty": torchlike.zeros(0, 3),
        "number": tensor(5),
        "mask": tensor([True, False]),
        "half": torchlike.ones(2, dtype=torchlike.float16),
        "transposed": torchlike.arange(6.0).reshape(2, 3).T,
        "parameter": nn.Parameter(torchlike.ones(2)),
    }
    torchlike.save(saved, path)
    loaded = torchlike.load(path)
    assert set(loaded) == set(saved)
    for name, value in saved.items():
        assert loaded[name].dtype == value.dtype and torchlike.equal(loaded[name], value.detach()), name
        assert not loaded[name].requires_grad
    assert torchlike.load(path, map_location="meta")["transposed"].is_meta


def test_safetensors_own_reader_understands_the_file(tmp_path):
    from safetensors.numpy import load_file

    torchlike.save({"x": tensor([1.0, 2.0])}, tmp_path / "x.safetensors")
    assert load_file(tmp_path / "x.safetensors")["x"].tolist() == [1.0, 2.0]


def test_what_is_no_dict_of_tensors_is_refused(tmp_path):
    with pytest.raises(TypeError, match="takes a dict of tensors by name"):
        torchlike.save(tensor([1]), tmp_path / "x")
    with pytest.raises(TypeError, match="the value of 'a' is int"):
        torchlike.save({"a": 1}, tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_other_files_are_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"no safetensors here")
    with pytest.raises(ValueError, match="is no safetensors file"):
        torchlike.load(tmp_path / "x")
    with pytest.raises(FileNotFoundError):
        torchlike.load(tmp_path / "missing")
