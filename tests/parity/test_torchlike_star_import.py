"""``from torchlike import *`` against ``from torch import *``."""

import torch

import torchlike


def test_a_star_import_brings_every_name_that_torchs_does_and_torchlike_has():
    assert {name for name in torch.__all__ if name in dir(torchlike)} <= {*torchlike.__all__}


def test_what_it_brings_beside_them_is_torchs_or_is_known():
    extra = {name for name in torchlike.__all__ if not hasattr(torch, name)}
    assert extra == {
        "ComplexDoubleTensor",
        "ComplexFloatTensor",
        "capture",
        "install_as_torch",
        "is_autocast_available",
        "pipeline",
        "synchronize",
    }
