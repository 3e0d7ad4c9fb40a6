"""Classes of tensors with attributes of their own, of names that no tensor of torch has."""

import pytest

import torchlike
from torchlike import Tensor


class Noted(Tensor):
    """A class whose tensors carry notes, as MONAI's carry ``_meta``."""


@pytest.mark.parametrize("name", ["_meta", "meta", "_affine", "_spec", "_notes"])
def test_an_attribute_of_a_program_hides_nothing_of_ours(name):
    x = torchlike.ones(2, 3, requires_grad=True).as_subclass(Noted)
    y = x * 2
    for each in (x, y):
        setattr(each, name, {"space": "RAS"})
    torchlike.cat([x, y]).sum().backward()
    (x.reshape(3, 2) @ x).sum().backward()
    assert getattr(y, name) == {"space": "RAS"}
