"""Instance normalization: each channel of each sample apart."""

from __future__ import annotations

import warnings
from typing import Any

from dispatch_core.escapes import to_printable

from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from ...values.argument_types import DeviceLike, DTypeLike
from .. import functional as F  # noqa: N812  # torch's own abbreviation
from .batchnorm import _check_rank, _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    #: The number of dimensions of an input without a batch.
    _unbatched_rank: int

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input: Tensor) -> None:
        _check_rank(input, self._unbatched_rank, self._unbatched_rank + 1)

    def _normalize(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )

    def forward(self, input: Tensor) -> Tensor:
        check_tensor(input, type(self).__name__)
        self._check_input_dim(input)
        dim = input.ndim - self._unbatched_rank
        if input.shape[dim] != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                    f"{input.shape[dim]}."
                )
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing in "
                "num_features, which is not used because affine=False",
                stacklevel=2,
            )
        return self._normalize(input) if dim else self._normalize(input.unsqueeze(0)).squeeze(0)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load the state; files of the first version may hold statistics that are not tracked any more."""
        if local_metadata.get("version") is None and not self.track_running_stats:
            found = [name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if found:
                names, cls = " and ".join(f'"{to_printable(prefix + name)}"' for name in found), type(self).__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {cls} with track_running_stats=False. If state_dict is "
                    f"a checkpoint saved before 0.4.0, this may be expected because {cls} does not track running stats by "
                    "default since 0.4.0. Please remove these keys from state_dict. If the running stats are actually "
                    f"needed, instead set track_running_stats=True in {cls} to enable them. See the documentation of {cls} "
                    "for details."
                )
                for name in found:
                    state_dict.pop(prefix + name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of ``(N, C, L)`` or ``(C, L)`` (source: ``torch.nn.InstanceNorm1d``)."""

    _unbatched_rank = 2


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of ``(N, C, H, W)`` or ``(C, H, W)`` (source: ``torch.nn.InstanceNorm2d``)."""

    _unbatched_rank = 3


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of ``(N, C, D, H, W)`` or ``(C, D, H, W)`` (source: ``torch.nn.InstanceNorm3d``)."""

    _unbatched_rank = 4


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An ``InstanceNorm1d`` that learns its number of channels from the first input."""

    cls_to_become = InstanceNorm1d
    _unbatched_rank = 2


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An ``InstanceNorm2d`` that learns its number of channels from the first input."""

    cls_to_become = InstanceNorm2d
    _unbatched_rank = 3


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An ``InstanceNorm3d`` that learns its number of channels from the first input."""

    cls_to_become = InstanceNorm3d
    _unbatched_rank = 4
