"""The operators of quantized tensors with parameters of their own, ``torch.ops.quantized``, by their schemas.

They are announced where `torchlike.ops` is first asked for, and defined when a program names one.
"""

from __future__ import annotations

from typing import Any, Final

import dispatch_core as dc

_PARAMETERS: Final = "float output_scale, int output_zero_point"
_CLASS: Final = "__torch__.torch.classes.quantized"
_NORM: Final = "Tensor? weight, Tensor? bias, float eps, float output_scale, int output_zero_point"
_BATCH: Final = (
    f"(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps, {_PARAMETERS}) -> Tensor"
)
_LINEAR: Final = (
    f"(Tensor X, {_CLASS}.LinearPackedParamsBase W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor Y"
)
_DYNAMIC: Final = f"(Tensor X, {_CLASS}.LinearPackedParamsBase W_prepack, bool reduce_range=False) -> Tensor Y"
_OF_NUMBERS: Final = (
    f"(Tensor X, float X_scale, int X_zero_point, {_CLASS}.LinearPackedParamsBase W_prepack) -> Tensor Y"
)
_ADDED: Final = f"(Tensor qx, Tensor qaccum, {_CLASS}.Conv2dPackedParamsBase packed_weight, {_PARAMETERS}) -> Tensor"
_BAG: Final = (
    " Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, bool pruned_weights=False, Tensor?"
    " per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool include_last_offset=False) -> Tensor"
)
_POOL: Final = "(Tensor qx, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> Tensor"


def _list_binary() -> dict[str, str]:
    """Return the overloads of sums and products, each with a form that ends in a ReLU."""
    found: dict[str, str] = {}
    for name in ("add", "add_relu", "mul", "mul_relu"):
        scalar = name.replace("add", "add_scalar").replace("mul", "mul_scalar")
        out = "Tensor(a!) out) -> Tensor(a!) out"
        found |= {
            name: "(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
            f"{name}.Scalar": "(Tensor qa, Scalar b) -> Tensor qc",
            f"{name}.Scalar2": "(Scalar b, Tensor qa) -> Tensor qc",
            f"{name}.out": f"(Tensor qa, Tensor qb, {out}",
            f"{name}_out": f"(Tensor qa, Tensor qb, {out}",
            scalar: "(Tensor qa, Scalar b) -> Tensor qc",
            f"{scalar}.Tensor": "(Tensor qa, Tensor b) -> Tensor qc",
            f"{name}.Scalar_out": f"(Tensor qa, Scalar b, {out}",
            f"{scalar}_out": f"(Tensor qa, Scalar b, {out}",
            f"{scalar}_out.Tensor": f"(Tensor qa, Tensor b, {out}",
        }
    return found


def _list_convolutions() -> dict[str, str]:
    """Return the convolutions and transposed convolutions of each number of dimensions, and their packed parameters."""
    found: dict[str, str] = {}
    for dims in (1, 2, 3):
        packed = f"{_CLASS}.Conv{max(dims, 2)}dPackedParamsBase"
        call = f"(Tensor qx, {packed} packed_weight, {_PARAMETERS}) -> Tensor"
        sizes = "int[] stride, int[] padding, {}int[] dilation, int groups"
        new = "" if dims == 1 else ".new"
        for name in (f"conv{dims}d", f"conv_transpose{dims}d"):
            is_transposed = "transpose" in name
            given = sizes.format("int[] output_padding, " if is_transposed else "")
            found[f"{name}_prepack"] = f"(Tensor weight, Tensor? bias, {given}) -> {packed}"
            found[f"{name}_unpack"] = f"({packed} packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)"
            found[f"{name}_dynamic"] = f"(Tensor qx, {packed} packed_weight, bool reduce_range=False) -> Tensor"
            for size in ("stride", "padding", "output_padding", "dilation"):
                found[f"{name}_{size}"] = f"({packed} packed_weights) -> int[]"
            for size in ("groups", "transpose"):
                found[f"{name}_{size}"] = f"({packed} packed_weights) -> int"
            if is_transposed:
                found[name] = call
                continue
            for form in (name, f"{name}_relu"):
                found[f"{form}{new}"] = call
                if new:
                    found[form] = f"(Tensor qx, {packed} weight, {sizes.format('')}, {_PARAMETERS}) -> Tensor"
    return found


SCHEMAS: Final[dict[str, str]] = {
    **_list_binary(),
    **_list_convolutions(),
    "linear": _LINEAR,
    "linear_relu": _LINEAR,
    "linear_tanh": _LINEAR,
    "linear_leaky_relu": _LINEAR.replace(") ->", ", float negative_slope) ->"),
    **{f"linear_with_input_q_dq_qweight_dq{relu}_output_fp32": _OF_NUMBERS for relu in ("", "_relu")},
    **{f"conv2d_add{relu}": _ADDED for relu in ("", "_relu")},
    "linear_dynamic": _DYNAMIC,
    "linear_relu_dynamic": _DYNAMIC,
    "linear_prepack": f"(Tensor W, Tensor? B=None) -> {_CLASS}.LinearPackedParamsBase W_prepack",
    "linear_unpack": f"({_CLASS}.LinearPackedParamsBase W_prepack) -> (Tensor W_origin, Tensor? B_origin)",
    "matmul": "(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
    "cat": "(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
    "cat_relu": "(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
    **{f"cat{relu}_out": "(Tensor[] qx, int dim, Tensor(a!) out) -> Tensor(a!)" for relu in ("", "_relu")},
    **{f"batch_norm{dims}{relu}": _BATCH for dims in ("", "1d", "2d", "3d") for relu in ("", "_relu")},
    "layer_norm": f"(Tensor input, int[] normalized_shape, {_NORM}) -> Tensor",
    "group_norm": f"(Tensor input, int num_groups, {_NORM}) -> Tensor",
    "instance_norm": f"(Tensor input, {_NORM}) -> Tensor",
    "hardswish": f"(Tensor input, {_PARAMETERS}) -> Tensor",
    "sigmoid": f"(Tensor qx, {_PARAMETERS}) -> Tensor",
    "elu": f"(Tensor self, {_PARAMETERS}, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
    "celu": f"(Tensor self, {_PARAMETERS}, Scalar alpha=1) -> Tensor",
    "leaky_relu": f"(Tensor qx, Scalar negative_slope, bool inplace, {_PARAMETERS}) -> Tensor",
    "softmax": f"(Tensor qx, int dim, {_PARAMETERS}) -> Tensor",
    "prelu": f"(Tensor qx, Tensor weight, {_PARAMETERS}) -> Tensor",
    "dropout": f"(Tensor self, {_PARAMETERS}, Scalar p=0.5, bool training=False) -> Tensor",
    "relu6": "(Tensor qx, bool inplace=False) -> Tensor",
    "clamp": "(Tensor qx, Scalar? min=None, Scalar? max=None) -> Tensor qy",
    "threshold": "(Tensor qx, Scalar threshold, Scalar value) -> Tensor qy",
    "max_pool1d": _POOL,
    "max_pool2d": _POOL,
    "embedding_bag_prepack": f"(Tensor weight) -> {_CLASS}.EmbeddingPackedParamsBase W_prepack",
    "embedding_bag_unpack": f"({_CLASS}.EmbeddingPackedParamsBase W_prepack) -> Tensor W_origin",
    "embedding_byte": (
        f"({_CLASS}.EmbeddingPackedParamsBase weight, Tensor indices, bool pruned_weights=False) -> Tensor"
    ),
    "embedding_bag_byte": f"({_CLASS}.EmbeddingPackedParamsBase weight,{_BAG}",
    "embedding_bag_byte_rowwise_offsets": f"(Tensor weight,{_BAG}",
    "embedding_bag_byte_prepack": "(Tensor weight) -> Tensor",
    "embedding_bag_byte_unpack": "(Tensor weight) -> Tensor",
}


def _define(name: str) -> dc.LazyDefinition:
    from ..quantized.operators import find_kernel

    return dc.LazyDefinition(name + SCHEMAS[name], kernels={"CompositeExplicitAutograd": find_kernel(name)})


with dc.registry.transaction(level="backend"):
    _library: Final[Any] = dc.Library("quantized", "DEF")
    _library.define_lazily(SCHEMAS, _define)
