"""Images of another size."""

from __future__ import annotations

__name__ = "torchlike.nn.modules.upsampling"  # see Note [Public paths]

from typing import Any

from ....tensors.tensor import Tensor
from ... import functional as F  # noqa: N812  # torch's own abbreviation
from ..module import Module


def _to_float(factor: Any) -> float:
    try:
        return float(factor)
    except (ArithmeticError, ValueError) as error:
        raise TypeError(f"scale_factor must be float, not {type(factor).__name__}: {error}") from None


class Upsample(Module):
    """Images of ``size``, or ``scale_factor`` times as large (source: ``torch.nn.Upsample``).

    >>> Upsample(scale_factor=2, mode="bilinear")
    Upsample(scale_factor=2.0, mode='bilinear')
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name, self.size = type(self).__name__, size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(map(_to_float, scale_factor))
        else:
            self.scale_factor = _to_float(scale_factor) if scale_factor else None
        self.mode, self.align_corners, self.recompute_scale_factor = mode, align_corners, recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        size = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Images of another size, each element that of the nearest (source: ``torch.nn.UpsamplingNearest2d``)."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Images of another size, corners on corners (source: ``torch.nn.UpsamplingBilinear2d``)."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
