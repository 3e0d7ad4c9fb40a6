"""Which class a module is swapped for (source: ``torch.ao.quantization.quantization_mappings``)."""

from __future__ import annotations

from typing import Any, Final

from torchlike import nn
from torchlike.nn.modules.multihead import NonDynamicallyQuantizableLinear
from torchlike.nn.utils.parametrize import type_before_parametrizations

from ..nn import intrinsic, qat, quantizable, quantized
from ..nn.intrinsic import qat as fused_qat
from ..nn.intrinsic import quantized as fused_quantized
from ..nn.intrinsic.quantized import dynamic as fused_dynamic
from ..nn.qat import dynamic as qat_dynamic
from ..nn.quantized import dynamic
from .fake_quantize import default_fixed_qparams_range_0to1_fake_quant, default_fixed_qparams_range_neg1to1_fake_quant
from .stubs import DeQuantStub, QuantStub
from .utils import get_combined_dict

__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS",
    "DEFAULT_MODULE_TO_ACT_POST_PROCESS",
    "DEFAULT_QAT_MODULE_MAPPINGS",
    "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS",
    "get_default_compare_output_module_list",
    "get_default_dynamic_quant_module_mappings",
    "get_default_float_to_quantized_operator_mappings",
    "get_default_qat_module_mappings",
    "get_default_qconfig_propagation_list",
    "get_default_static_quant_module_mappings",
    "get_dynamic_quant_module_class",
    "get_embedding_qat_module_mappings",
    "get_embedding_static_quant_module_mappings",
    "get_quantized_operator",
    "get_static_quant_module_class",
    "no_observer_set",
]


def _pairs(names: str, source: Any, target: Any) -> dict[Any, Any]:
    """Return the classes of a module by those of the same names in another one."""
    return {getattr(source, name): getattr(target, name) for name in names.split()}


DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: Final[dict[Any, Any]] = {
    QuantStub: quantized.Quantize,
    DeQuantStub: quantized.DeQuantize,
    quantized.FloatFunctional: quantized.QFunctional,
    NonDynamicallyQuantizableLinear: quantized.Linear,
    **_pairs(
        "BatchNorm2d BatchNorm3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d Dropout ELU Embedding"
        " EmbeddingBag GroupNorm Hardswish InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm LeakyReLU Linear PReLU"
        " ReLU6",
        nn,
        quantized,
    ),
    **_pairs(
        "BNReLU2d BNReLU3d ConvAdd2d ConvAddReLU2d ConvReLU1d ConvReLU2d ConvReLU3d LinearLeakyReLU LinearReLU LinearTanh",
        intrinsic,
        fused_quantized,
    ),
    **_pairs("ConvReLU2d ConvReLU3d LinearReLU", fused_qat, fused_quantized),
    **{
        getattr(fused_qat, f"{name}{dims}d"): getattr(target, f"{name.replace('Bn', '')}{dims}d")
        for name, target in (("ConvBn", quantized), ("ConvBnReLU", fused_quantized))
        for dims in (1, 2, 3)
    },
    fused_qat.LinearBn1d: quantized.Linear,
    **_pairs("Conv2d Conv3d Linear", qat, quantized),
}
DEFAULT_QAT_MODULE_MAPPINGS: Final[dict[Any, Any]] = {
    **_pairs("Conv2d Conv3d Linear", nn, qat),
    NonDynamicallyQuantizableLinear: qat.Linear,
    **_pairs(
        "ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d ConvBnReLU2d ConvBnReLU3d ConvReLU2d ConvReLU3d LinearBn1d LinearReLU",
        intrinsic,
        fused_qat,
    ),
}
DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: Final[dict[Any, Any]] = {
    **_pairs("GRU GRUCell LSTM LSTMCell Linear RNNCell", nn, dynamic),
    **dict.fromkeys((qat_dynamic.Linear, NonDynamicallyQuantizableLinear), dynamic.Linear),
    intrinsic.LinearReLU: fused_dynamic.LinearReLU,
    **_pairs("Embedding EmbeddingBag", nn, quantized),
}
DEFAULT_MODULE_TO_ACT_POST_PROCESS: Final[dict[Any, Any]] = {
    **dict.fromkeys((nn.Hardsigmoid, nn.Sigmoid, nn.Softmax), default_fixed_qparams_range_0to1_fake_quant),
    nn.Tanh: default_fixed_qparams_range_neg1to1_fake_quant,
}
#: A function of ``torch.nn.functional`` → the name of the operator in ``torch.ops.quantized``.
_OPERATORS: Final = {
    getattr(nn.functional, name): name
    for name in ("elu", "hardswish", "instance_norm", "layer_norm", "leaky_relu", "dropout")
}


def _operator(name: str) -> Any:
    from torchlike import ops  # its operators are made when they are asked for

    return getattr(ops.quantized, name)


def no_observer_set() -> set[Any]:
    """Return the classes that get no observer behind them."""
    return {quantizable.LSTM, quantizable.MultiheadAttention}


def get_default_static_quant_module_mappings() -> dict[Any, Any]:
    """Return a copy of the table for networks that are quantized after training."""
    return dict(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_embedding_static_quant_module_mappings() -> dict[Any, Any]:
    """Return the same with trained embeddings."""
    return {**DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, **_pairs("Embedding EmbeddingBag", qat, quantized)}


def get_default_qat_module_mappings() -> dict[Any, Any]:
    """Return a copy of the table for training with simulated quantization."""
    return dict(DEFAULT_QAT_MODULE_MAPPINGS)


def get_embedding_qat_module_mappings() -> dict[Any, Any]:
    """Return the same with embeddings."""
    return {**DEFAULT_QAT_MODULE_MAPPINGS, **_pairs("Embedding EmbeddingBag", nn, qat)}


def get_default_dynamic_quant_module_mappings() -> dict[Any, Any]:
    """Return the table for dynamic quantization."""
    return DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS


def _find(table: dict[Any, Any], float_module_class: Any, additional: Any) -> Any:
    found = get_combined_dict(table, additional or {}).get(float_module_class)
    if found is None:
        raise AssertionError(
            f"Floating point module class {float_module_class} does not have a corresponding quantized module class"
        )
    return found


def get_static_quant_module_class(
    float_module_class: Any, additional_static_quant_mapping: Any = None, is_reference: bool = False
) -> Any:
    """Return the class that a class is swapped for; ``AssertionError`` where there is none."""
    if is_reference:
        raise NotImplementedError("there are no reference modules here; they are for graph mode")
    return _find(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, float_module_class, additional_static_quant_mapping)


def get_dynamic_quant_module_class(float_module_class: Any, additional_dynamic_quant_mapping: Any = None) -> Any:
    """Return the class that a class is swapped for by dynamic quantization; ``AssertionError`` where there is none."""
    return _find(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, float_module_class, additional_dynamic_quant_mapping)


def get_default_qconfig_propagation_list() -> set[Any]:
    """Return the classes behind which observers stand."""
    tables = DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, DEFAULT_QAT_MODULE_MAPPINGS, DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS
    return {nn.Sequential}.union(*tables)


def get_default_compare_output_module_list() -> set[Any]:
    """Return these classes and those that they are swapped for."""
    tables = DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, DEFAULT_QAT_MODULE_MAPPINGS, DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS
    return get_default_qconfig_propagation_list().union(*(each.values() for each in tables))


def get_default_float_to_quantized_operator_mappings() -> dict[Any, Any]:
    """Return the quantized operators of functions."""
    return {function: _operator(name) for function, name in _OPERATORS.items()}


def get_quantized_operator(float_op: Any) -> Any:
    """Return the quantized operator of a function; ``AssertionError`` where there is none."""
    if float_op not in _OPERATORS:
        raise AssertionError(f"Operator {float_op} does not have corresponding quantized op")
    return _operator(_OPERATORS[float_op])


def _get_special_act_post_process(module: Any) -> Any:
    return DEFAULT_MODULE_TO_ACT_POST_PROCESS.get(type_before_parametrizations(module))


def _has_special_act_post_process(module: Any) -> bool:
    return bool(module.training) and type(module) in DEFAULT_MODULE_TO_ACT_POST_PROCESS
