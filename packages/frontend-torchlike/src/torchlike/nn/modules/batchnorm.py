"""Batch normalization, and the base of all normalizations with running statistics."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc
from dispatch_aten.dtypes import int64

from ...creation.factories import FACTORIES, tensor
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from ...values.argument_types import DeviceLike, DTypeLike
from .. import functional as F  # noqa: N812  # torch's own abbreviation
from .. import init
from ..parameter import Parameter
from ..uninitialized import UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """A layer with a weight and a bias for each channel, and running statistics."""

    _version = 2
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        options = {"device": device, "dtype": dtype}
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            made = Parameter(FACTORIES["empty"](num_features, **options)) if wanted else None
            self.register_parameter(name, made)
        if track_running_stats:
            self.register_buffer("running_mean", FACTORIES["zeros"](num_features, **options))
            self.register_buffer("running_var", FACTORIES["ones"](num_features, **options))
            self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget all batches seen: mean 0, variance 1, none counted."""
        if self.track_running_stats:
            for running, value in ((self.running_mean, 0), (self.running_var, 1), (self.num_batches_tracked, 0)):
                running.fill_(value)  # type: ignore[union-attr]

    def reset_parameters(self) -> None:
        """Reset the statistics, fill the weight with ones and the bias with zeros."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *args: Any) -> None:
        """Load the state; files of the first version have no count of batches."""
        version = local_metadata.get("version")
        key = f"{prefix}num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            own = self.num_batches_tracked
            state_dict[key] = own if own is not None and not own.is_meta else tensor(0, dtype=int64)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


def _check_rank(input: Tensor, *wanted: int) -> None:
    check_tensor(input, "batch_norm")
    if input.ndim not in wanted:
        listed = " or ".join(f"{rank}D" for rank in wanted)
        raise ValueError(f"expected {listed} input (got {input.ndim}D input)")


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        share = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                # The mean of all batches, each with the same weight.
                share = 1.0 / float(self.num_batches_tracked)
        uses_batch = self.training or (self.running_mean is None and self.running_var is None)
        keeps = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if keeps else None,
            self.running_var if keeps else None,
            self.weight,
            self.bias,
            uses_batch,
            share,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalization of ``(N, C)`` or ``(N, C, L)`` (source: ``torch.nn.BatchNorm1d``).

    >>> BatchNorm1d(4)
    BatchNorm1d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _check_rank(input, 2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of ``(N, C, H, W)`` (source: ``torch.nn.BatchNorm2d``)."""

    def _check_input_dim(self, input: Tensor) -> None:
        _check_rank(input, 4)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of ``(N, C, D, H, W)`` (source: ``torch.nn.BatchNorm3d``)."""

    def _check_input_dim(self, input: Tensor) -> None:
        _check_rank(input, 5)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over all processes, of which there is one here (source: ``torch.nn.SyncBatchNorm``)."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        check_tensor(input, type(self).__name__)
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Return the module with every batch normalization in it replaced by this class."""
        found: Module = module
        if isinstance(module, _BatchNorm):
            found = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                if getattr(module, name) is not None:
                    setattr(found, name, getattr(module, name))
            found.training = module.training
        for name, child in module.named_children():
            found.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return found


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """A normalization that learns its number of channels from the first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """Reset the parameters once they have a shape."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Materialize the parameters for the channels of ``input``."""
        if not self.has_uninitialized_params():
            return
        self.num_features = dc.shape(input)[1]
        for name in ("weight", "bias", "running_mean", "running_var"):
            each: Any = getattr(self, name)
            if each is not None:
                each.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A ``BatchNorm1d`` that learns its number of channels from the first input."""

    cls_to_become = BatchNorm1d
    _check_input_dim = BatchNorm1d._check_input_dim


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A ``BatchNorm2d`` that learns its number of channels from the first input."""

    cls_to_become = BatchNorm2d
    _check_input_dim = BatchNorm2d._check_input_dim


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A ``BatchNorm3d`` that learns its number of channels from the first input."""

    cls_to_become = BatchNorm3d
    _check_input_dim = BatchNorm3d._check_input_dim
