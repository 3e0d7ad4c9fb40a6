"""Sequences of layers that are one step when they are quantized (source: ``torch.ao.nn.intrinsic.modules.fused``)."""

from __future__ import annotations

from typing import Any, ClassVar

from torchlike import nn
from torchlike.nn.utils.parametrize import type_before_parametrizations

__all__ = [
    "BNReLU2d",
    "BNReLU3d",
    "ConvAdd2d",
    "ConvAddReLU2d",
    "ConvBn1d",
    "ConvBn2d",
    "ConvBn3d",
    "ConvBnReLU1d",
    "ConvBnReLU2d",
    "ConvBnReLU3d",
    "ConvReLU1d",
    "ConvReLU2d",
    "ConvReLU3d",
    "LinearBn1d",
    "LinearLeakyReLU",
    "LinearReLU",
    "LinearTanh",
]


class _FusedModule(nn.Sequential):
    """The base of fused layers."""


class _Sequence(_FusedModule):
    """Layers of given classes one behind the other; ``AssertionError`` for others."""

    _parts: ClassVar[tuple[type, ...]] = ()

    def __init__(self, *modules: Any) -> None:
        found = tuple(map(type_before_parametrizations, modules))
        if found != self._parts:
            names = [each.__name__ for each in found]
            raise AssertionError(f"Incorrect types for input modules: {' and '.join(names)}")
        super().__init__(*modules)


def _make(name: str, *parts: type) -> Any:
    text = f"{' and then '.join(each.__name__ for each in parts)} (source: ``torch.ao.nn.intrinsic.{name}``)."
    return type(name, (_Sequence,), {"__module__": __name__, "__doc__": f"Compute {text}", "_parts": parts})


ConvReLU1d = _make("ConvReLU1d", nn.Conv1d, nn.ReLU)
ConvReLU2d = _make("ConvReLU2d", nn.Conv2d, nn.ReLU)
ConvReLU3d = _make("ConvReLU3d", nn.Conv3d, nn.ReLU)
ConvBn1d = _make("ConvBn1d", nn.Conv1d, nn.BatchNorm1d)
ConvBn2d = _make("ConvBn2d", nn.Conv2d, nn.BatchNorm2d)
ConvBn3d = _make("ConvBn3d", nn.Conv3d, nn.BatchNorm3d)
ConvBnReLU1d = _make("ConvBnReLU1d", nn.Conv1d, nn.BatchNorm1d, nn.ReLU)
ConvBnReLU2d = _make("ConvBnReLU2d", nn.Conv2d, nn.BatchNorm2d, nn.ReLU)
ConvBnReLU3d = _make("ConvBnReLU3d", nn.Conv3d, nn.BatchNorm3d, nn.ReLU)
BNReLU2d = _make("BNReLU2d", nn.BatchNorm2d, nn.ReLU)
BNReLU3d = _make("BNReLU3d", nn.BatchNorm3d, nn.ReLU)
LinearReLU = _make("LinearReLU", nn.Linear, nn.ReLU)
LinearBn1d = _make("LinearBn1d", nn.Linear, nn.BatchNorm1d)
LinearLeakyReLU = _make("LinearLeakyReLU", nn.Linear, nn.LeakyReLU)
LinearTanh = _make("LinearTanh", nn.Linear, nn.Tanh)


class ConvAdd2d(_FusedModule):
    """Add to a convolution's result (source: ``torch.ao.nn.intrinsic.ConvAdd2d``)."""

    def __init__(self, conv: Any, add: Any) -> None:
        super().__init__(conv)
        self.add = add

    def forward(self, x1: Any, x2: Any) -> Any:  # type: ignore[override]  # of two tensors, as torch's
        return self.add(self[0](x1), x2)


class ConvAddReLU2d(ConvAdd2d):
    """Add to a convolution's result, and then ReLU (source: ``torch.ao.nn.intrinsic.ConvAddReLU2d``)."""

    def __init__(self, conv: Any, add: Any, relu: Any) -> None:
        super().__init__(conv, add)
        self.relu = relu

    def forward(self, x1: Any, x2: Any) -> Any:  # type: ignore[override]  # of two tensors, as torch's
        return self.relu(super().forward(x1, x2))
