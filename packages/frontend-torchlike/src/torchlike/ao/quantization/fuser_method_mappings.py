"""Which sequences of layers become one, and how (source: ``torch.ao.quantization.fuser_method_mappings``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from torchlike import nn
from torchlike.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

from ..nn.intrinsic import fused
from .utils import get_combined_dict

__all__ = ["fuse_conv_bn", "fuse_conv_bn_relu", "fuse_convtranspose_bn", "fuse_linear_bn", "get_fuser_method"]


def _check(is_qat: bool, layer: Any, norm: Any, *others: Any) -> None:
    if not all(each.training == layer.training for each in (norm, *others)):
        raise AssertionError("Conv and BN both must be in the same mode (train or eval).")
    if not is_qat:
        return
    if norm.num_features != getattr(layer, "out_channels", getattr(layer, "out_features", None)):
        raise AssertionError("Output channel of the layer must match num_features of the batch normalization")
    if not norm.affine:
        raise AssertionError("Only support fusing BatchNorm with affine set to True")
    if not norm.track_running_stats:
        raise AssertionError("Only support fusing BatchNorm with tracking_running_stats set to True")


def _find(conv: Any, kind: str, *modules: Any) -> Any:
    """Return the fused class for a convolution."""
    name = type(conv).__name__.replace("Conv", kind)
    if type(conv) not in (nn.Conv1d, nn.Conv2d, nn.Conv3d):
        raise NotImplementedError(f"Cannot fuse modules: {(conv, *modules)}")
    return getattr(fused, name)


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Any) -> Any:
    """Return a convolution with the normalization in it, or, for training, both as one module."""
    _check(is_qat, conv, bn)
    return _find(conv, "ConvBn", bn)(conv, bn) if is_qat else fuse_conv_bn_eval(conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Any, relu: Any) -> Any:
    """Return a convolution with the normalization in it and ReLU, or, for training, all three, as one module."""
    _check(is_qat, conv, bn, relu)
    if is_qat:
        return _find(conv, "ConvBnReLU", bn, relu)(conv, bn, relu)
    return _find(conv, "ConvReLU", bn, relu)(fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Any) -> Any:
    """Return a linear layer with the normalization in it, or, for training, both as one module."""
    _check(is_qat, linear, bn)
    return fused.LinearBn1d(linear, bn) if is_qat else fuse_linear_bn_eval(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Any, bn: Any) -> Any:
    """Return a transposed convolution with the normalization in it; not for training."""
    _check(False, convt, bn)
    if is_qat:
        raise Exception("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")  # noqa: TRY002  # torch's class
    return fuse_conv_bn_eval(convt, bn, transpose=True)


def _in_sequence(kind: Any) -> Callable[..., Any]:
    return lambda is_qat, *modules: kind(*modules)


_METHODS: Final[dict[tuple[type, ...], Callable[..., Any]]] = {
    **{
        key: method
        for dims in (1, 2, 3)
        for conv, turned, norm in [[getattr(nn, f"{name}{dims}d") for name in ("Conv", "ConvTranspose", "BatchNorm")]]
        for key, method in (
            ((conv, norm), fuse_conv_bn),
            ((conv, norm, nn.ReLU), fuse_conv_bn_relu),
            ((conv, nn.ReLU), _in_sequence(getattr(fused, f"ConvReLU{dims}d"))),
            ((turned, norm), fuse_convtranspose_bn),
        )
    },
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn,
    (nn.Linear, nn.ReLU): _in_sequence(fused.LinearReLU),
    (nn.BatchNorm2d, nn.ReLU): _in_sequence(fused.BNReLU2d),
    (nn.BatchNorm3d, nn.ReLU): _in_sequence(fused.BNReLU3d),
}


def get_fuser_method(op_list: Any, additional_fuser_method_mapping: Any = None) -> Callable[..., Any]:
    """Return the function that makes one module of several, by their classes; ``AssertionError`` where there is none."""
    found = get_combined_dict(_METHODS, additional_fuser_method_mapping or {}).get(op_list)
    if found is None:
        raise AssertionError(f"did not find fuser method for: {op_list} ")
    method: Callable[..., Any] = found
    return method
