"""Where torchlike takes the name of a device: an alias is the device that it is read as."""

import warnings

import pytest

import torchlike
from dispatch_core.devices import alias_device


@pytest.fixture
def cuda():
    """Read ``cuda`` as ``meta`` within a test."""
    alias_device("cuda", "meta")
    yield
    alias_device("cuda", None)


@pytest.mark.usefixtures("cuda")
def test_tensors_and_modules_move_to_the_device():
    x = torchlike.ones(2)
    meta = torchlike.device("meta")
    assert torchlike.device("cuda") == meta == torchlike.ones(1, device="cuda").device
    assert x.to("cuda").device == x.to(torchlike.device("cuda")).device == meta
    assert x.to("cuda").is_cuda and x.to("cuda").is_meta and not x.is_cuda
    assert torchlike.nn.Linear(2, 1).to("cuda").weight.is_cuda


@pytest.mark.usefixtures("cuda")
def test_autocast_is_that_of_the_device():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        block = torchlike.autocast("cuda:0", torchlike.bfloat16)
    with block:
        assert torchlike.is_autocast_enabled("meta") and torchlike.is_autocast_enabled("cuda")
        assert torchlike.get_autocast_dtype("cuda") is torchlike.bfloat16
    assert not torchlike.is_autocast_enabled("cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torchlike.amp.GradScaler().is_enabled()


def test_without_an_alias_it_is_refused():
    x = torchlike.ones(2)
    with pytest.raises(AssertionError, match="not compiled with CUDA enabled"):
        x.cuda()
    assert not x.is_cuda and torchlike.device("cuda").type == "cuda"
