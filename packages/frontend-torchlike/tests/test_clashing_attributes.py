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


class Packed(torchlike.nn.Parameter):
    """A class of parameters with an argument of its own, as bitsandbytes' are."""

    def __new__(cls, data, requires_grad=False, packed=True):
        made = Tensor._make_subclass(cls, data, requires_grad)
        made.packed = packed
        return made


def test_a_class_of_parameters_takes_arguments_of_its_own():
    layer = torchlike.nn.Linear(2, 2)
    layer.weight = Packed(torchlike.ones(2, 2), packed="four")
    assert (type(layer.weight), layer.weight.packed, layer.weight.requires_grad) == (Packed, "four", False)
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    layer(torchlike.ones(1, 2)).sum().backward()
    assert layer.weight.grad is None
