"""Networks made ready for quantization, and converted (source: ``torch.ao.quantization.quantize``)."""

from __future__ import annotations

import copy
import inspect
import warnings
from typing import Any, Final

import torchlike as t
from torchlike import nn
from torchlike.nn.utils.parametrize import type_before_parametrizations

from ..nn import quantizable, quantized
from ..nn.intrinsic.fused import _FusedModule
from ..nn.quantized.functional_modules import FloatFunctional, QFunctional
from . import qconfig as configurations
from .observer import _is_activation_post_process
from .quantization_mappings import (
    _get_special_act_post_process,
    _has_special_act_post_process,
    get_default_dynamic_quant_module_mappings,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
    no_observer_set,
)
from .stubs import DeQuantStub, QuantWrapper
from .utils import has_no_children_ignoring_parametrizations

__all__ = [
    "add_quant_dequant",
    "convert",
    "default_eval_fn",
    "get_default_custom_config_dict",
    "prepare",
    "prepare_qat",
    "propagate_qconfig_",
    "quantize",
    "quantize_dynamic",
    "quantize_qat",
    "swap_module",
]

is_activation_post_process = _is_activation_post_process
_RECURRENT: Final = (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)
#: The configuration of `quantize_dynamic` for a dtype, and the classes that get it.
_DYNAMIC: Final = {
    t.qint8: (configurations.default_dynamic_qconfig, _RECURRENT),
    t.float16: (configurations.float16_dynamic_qconfig, _RECURRENT),
    t.quint8: (configurations.float_qparams_weight_only_qconfig, (nn.EmbeddingBag, nn.Embedding)),
    t.quint4x2: (configurations.float_qparams_weight_only_qconfig_4bit, (nn.EmbeddingBag,)),
}
_CUSTOM: Final[dict[str, Any]] = {
    "float_to_observed_custom_module_class": {
        nn.LSTM: quantizable.LSTM,
        nn.MultiheadAttention: quantizable.MultiheadAttention,
    },
    "observed_to_quantized_custom_module_class": {
        quantizable.LSTM: quantized.LSTM,
        quantizable.MultiheadAttention: quantized.MultiheadAttention,
    },
}


def get_default_custom_config_dict() -> dict[str, Any]:
    """Return the tables of classes that are observed as another class, whose parts are quantized."""
    return _CUSTOM


def default_eval_fn(model: Any, calib_data: Any) -> None:
    """Run a network on the inputs of pairs."""
    for data, _ in calib_data:
        model(data)


def propagate_qconfig_(module: Any, qconfig_dict: Any = None, prepare_custom_config_dict: Any = None) -> None:
    """Give each module the configuration of its name, its class or the module that it is in."""
    _propagate(module, qconfig_dict or {}, None, "", prepare_custom_config_dict or {})


def _propagate(module: Any, table: Any, parent: Any, prefix: str, custom: Any) -> None:
    found = table.get(prefix, table.get(type_before_parametrizations(module), parent))
    found = getattr(module, "qconfig", found)
    configurations._assert_valid_qconfig(found, module)
    found = module.qconfig = configurations._add_module_to_qconfig_obs_ctr(found, module)
    for name, child in module.named_children():
        if name in custom.get("non_traceable_module_name", []) or type(child) in custom.get(
            "non_traceable_module_class", []
        ):
            continue
        _propagate(child, table, found, f"{prefix}.{name}" if prefix else name, {})


def _observer_forward_hook(self: Any, input: Any, output: Any) -> Any:
    return self.activation_post_process(output)


def _observer_forward_pre_hook(self: Any, input: Any) -> Any:
    return self.activation_post_process(input[0])


def _is_configured(module: Any) -> bool:
    return getattr(module, "qconfig", None) is not None


def _insert(module: Any, device: Any, special: Any = None) -> None:
    """Put an observer behind a module, or before it where the observer remembers nothing."""
    if not _is_configured(module) or isinstance(module, DeQuantStub):
        return
    module.add_module("activation_post_process", _make_observer(module.qconfig, device, special))
    if configurations._activation_is_memoryless(module.qconfig):
        module.register_forward_pre_hook(_observer_forward_pre_hook, prepend=True)
    else:
        module.register_forward_hook(_observer_forward_hook, prepend=True)


def _make_observer(qconfig: Any, device: Any, special: Any = None) -> Any:
    made = qconfig.activation() if special is None else special()
    return made if device is None else made.to(device)


def _find_device(module: Any) -> Any:
    devices = {each.device for each in (*module.parameters(), *module.buffers()) if each.device.type != "meta"}
    if len(devices) > 1:
        raise AssertionError(f"only modules on one device are quantized, but got devices {devices}")
    return next(iter(devices), None)


def _add_observer_(
    module: Any,
    qconfig_propagation_list: Any = None,
    non_leaf_module_list: Any = None,
    device: Any = None,
    custom_module_class_mapping: Any = None,
) -> None:
    classes = get_default_qconfig_propagation_list() if qconfig_propagation_list is None else qconfig_propagation_list
    custom = custom_module_class_mapping or {}
    device = _find_device(module) if device is None else device
    for name, child in module.named_children():
        kind = type_before_parametrizations(child)
        if kind is nn.Dropout:
            continue
        if issubclass(kind, (FloatFunctional, QFunctional)):
            if _is_configured(child):
                child.activation_post_process = _make_observer(child.qconfig, device)
        elif isinstance(child, _FusedModule) or kind in (non_leaf_module_list or ()):
            _insert(child, device)
        elif _has_special_act_post_process(child):
            _insert(child, device, _get_special_act_post_process(child))
        elif _is_configured(child) and kind in custom:
            observed = custom[kind].from_float(child)
            setattr(module, name, observed)
            if not issubclass(custom[kind], tuple(no_observer_set())):
                _insert(observed, device)
        else:
            _add_observer_(child, classes, non_leaf_module_list, device, custom)
    if isinstance(module, nn.Sequential) or type_before_parametrizations(module) not in classes:
        return
    if has_no_children_ignoring_parametrizations(module) or hasattr(module, "weight_fake_quant"):
        _insert(module, device)


def add_quant_dequant(module: Any) -> Any:
    """Return a network whose configured layers have stubs before and behind them."""
    if has_no_children_ignoring_parametrizations(module) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module


def prepare(
    model: Any,
    inplace: bool = False,
    allow_list: Any = None,
    observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: Any = None,
) -> Any:
    """Return a network with observers behind its layers (source: ``torch.ao.quantization.prepare``).

    Modules have a ``qconfig``, or one of those that they are in has. Then run the network on examples, and `convert` it.
    """
    custom = get_default_custom_config_dict() if prepare_custom_config_dict is None else prepare_custom_config_dict
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    if not any(getattr(each, "qconfig", None) for each in model.modules()):
        warnings.warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through `qconfig_dict` "
            "or by assigning the `.qconfig` attribute directly on submodules",
            stacklevel=2,
        )
    mapping = custom.get("float_to_observed_custom_module_class", {})
    _add_observer_(model, allow_list, observer_non_leaf_module_list, custom_module_class_mapping=mapping)
    return model


def _remove_qconfig(module: Any) -> None:
    """Take configurations and observers away."""
    for child in module.children():
        _remove_qconfig(child)
    if hasattr(module, "qconfig"):
        del module.qconfig
    if _is_activation_post_process(getattr(module, "activation_post_process", None)):
        del module.activation_post_process
    for hooks, hook in (
        (module._forward_pre_hooks, _observer_forward_pre_hook),
        (module._forward_hooks, _observer_forward_hook),
    ):
        for key in [key for key, each in hooks.items() if each is hook]:
            del hooks[key]


def quantize(model: Any, run_fn: Any, run_args: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """Return a quantized network, observed in ``run_fn(model, *run_args)`` (source: ``torch.ao.quantization.quantize``)."""
    model = (model if inplace else copy.deepcopy(model)).eval()
    prepare(model, inplace=True)
    run_fn(model, *run_args)
    return convert(model, mapping, inplace=True)


def quantize_dynamic(
    model: Any, qconfig_spec: Any = None, dtype: Any = t.qint8, mapping: Any = None, inplace: bool = False
) -> Any:
    """Return a network with quantized weights (source: ``torch.ao.quantization.quantize_dynamic``).

    What flows is quantized in each call, by its own range. ``qconfig_spec`` is a set of classes or names of modules, or a
    dictionary of their configurations; by default all linear and recurrent layers.
    """
    if qconfig_spec is None or isinstance(qconfig_spec, set):
        if dtype not in _DYNAMIC:
            error = ValueError if qconfig_spec is None else RuntimeError
            raise error(f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please")
        found, classes = _DYNAMIC[dtype]
        qconfig_spec = dict.fromkeys(classes if qconfig_spec is None else qconfig_spec, found)
    model = (model if inplace else copy.deepcopy(model)).eval()
    propagate_qconfig_(model, qconfig_spec)
    return convert(model, mapping or get_default_dynamic_quant_module_mappings(), inplace=True)


def prepare_qat(model: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """Return a network to be trained with simulated quantization (source: ``torch.ao.quantization.prepare_qat``)."""
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    mapping = get_default_qat_module_mappings() if mapping is None else mapping
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    convert(model, mapping=mapping, inplace=True, remove_qconfig=False)
    return prepare(model, observer_non_leaf_module_list={*mapping.values()}, inplace=True)


def quantize_qat(model: Any, run_fn: Any, run_args: Any, inplace: bool = False) -> Any:
    """Return a quantized network, trained in ``run_fn(model, *run_args)`` (source: ``torch.ao.quantization``)."""
    model = (model if inplace else copy.deepcopy(model)).train()
    prepare_qat(model, inplace=True)
    run_fn(model, *run_args)
    return convert(model, inplace=True)


def convert(
    module: Any,
    mapping: Any = None,
    inplace: bool = False,
    remove_qconfig: bool = True,
    is_reference: bool = False,
    convert_custom_config_dict: Any = None,
    use_precomputed_fake_quant: bool = False,
) -> Any:
    """Return a network whose observed layers are swapped for quantized ones (source: ``torch.ao.quantization.convert``)."""
    if is_reference:
        raise NotImplementedError("there are no reference modules here; they are for graph mode")
    custom = get_default_custom_config_dict() if convert_custom_config_dict is None else convert_custom_config_dict
    module = module if inplace else copy.deepcopy(module)
    mapping = get_default_static_quant_module_mappings() if mapping is None else mapping
    classes = custom.get("observed_to_quantized_custom_module_class", {})
    _convert(module, mapping, classes, use_precomputed_fake_quant)
    if remove_qconfig:
        _remove_qconfig(module)
    return module


def _convert(module: Any, mapping: Any, classes: Any, use_precomputed_fake_quant: bool) -> None:
    swapped = {}
    for name, child in module.named_children():
        if not isinstance(child, _FusedModule) and type_before_parametrizations(child) not in classes:
            _convert(child, mapping, classes, use_precomputed_fake_quant)
        swapped[name] = swap_module(child, mapping, classes, use_precomputed_fake_quant)
    module._modules.update(swapped)


def swap_module(
    mod: Any, mapping: Any, custom_module_class_mapping: Any, use_precomputed_fake_quant: bool = False
) -> Any:
    """Return the module that takes the place of ``mod``, with its hooks; ``mod`` itself where none does."""
    kind = type_before_parametrizations(mod)
    if not _is_configured(mod):
        return mod
    if kind in custom_module_class_mapping:
        made = custom_module_class_mapping[kind].from_observed(mod)
    elif kind in mapping:
        make = mapping[kind].from_float
        named = "use_precomputed_fake_quant"
        options = {named: use_precomputed_fake_quant} if named in inspect.signature(make).parameters else {}
        made = make(mod, **options)
    else:
        return mod
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observer_forward_hook:
            made.register_forward_hook(hook)
    device = _find_device(mod)
    return made if device is None else made.to(device)
