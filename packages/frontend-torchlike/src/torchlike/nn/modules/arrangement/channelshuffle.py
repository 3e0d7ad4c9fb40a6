"""Channels of several groups in turn."""

from __future__ import annotations

__name__ = "torchlike.nn.modules.channelshuffle"  # see Note [Public paths]

from ....tensors.tensor import Tensor
from ... import functional as F  # noqa: N812  # torch's own abbreviation
from ..module import Module


class ChannelShuffle(Module):
    """The channels of ``(N, C, *)``, one of each group after another (source: ``torch.nn.ChannelShuffle``)."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
