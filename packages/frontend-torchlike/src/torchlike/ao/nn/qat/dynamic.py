"""Layers that are trained for dynamic quantization (source: ``torch.ao.nn.qat.dynamic``)."""

from __future__ import annotations

from typing import Any

from . import trained

__all__ = ["Linear"]
__path__: list[str] = []  # it is a package in torch; see Note [Public paths]


class Linear(trained.Linear):
    """Multiply by a weight, for an input whose range is not remembered (source: ``torch.ao.nn.qat.dynamic.Linear``)."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, qconfig, device, dtype)
        from ...quantization.qconfig import _activation_is_memoryless  # only this class needs it

        if not _activation_is_memoryless(qconfig):
            raise ValueError(
                "Dynamic QAT requires a memoryless observer.This means a MovingAverage observer with averaging constant"
                " equal to 1"
            )
