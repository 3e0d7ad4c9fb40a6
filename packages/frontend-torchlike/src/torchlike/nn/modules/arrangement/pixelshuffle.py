"""Channels that become pixels, and back."""

from __future__ import annotations

__name__ = "torchlike.nn.modules.pixelshuffle"  # see Note [Public paths]

from ....tensors.tensor import Tensor
from ... import functional as F  # noqa: N812  # torch's own abbreviation
from ..module import Module


class PixelShuffle(Module):
    """``(*, C * r * r, H, W)`` as ``(*, C, H * r, W * r)`` (source: ``torch.nn.PixelShuffle``)."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """``(*, C, H * r, W * r)`` as ``(*, C * r * r, H, W)`` (source: ``torch.nn.PixelUnshuffle``)."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
