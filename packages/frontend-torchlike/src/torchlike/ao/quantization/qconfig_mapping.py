"""Configurations of modules by class and by name (source: ``torch.ao.quantization.qconfig_mapping``)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final, Self

import torchlike as t
from torchlike import nn

from .fake_quantize import FixedQParamsFakeQuantize, default_weight_fake_quant
from .observer import (
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
    default_placeholder_observer,
    default_weight_observer,
)
from .qconfig import (
    QConfig,
    QConfigAny,
    default_quint8_weight_qconfig,
    default_reuse_input_qconfig,
    get_default_qat_qconfig,
    get_default_qconfig,
)

__all__ = [
    "QConfigMapping",
    "get_default_qat_qconfig_dict",
    "get_default_qat_qconfig_mapping",
    "get_default_qconfig_dict",
    "get_default_qconfig_mapping",
]

_F: Final = nn.functional
_FIXED: Final = {
    **dict.fromkeys(
        (
            nn.Hardsigmoid,
            _F.hardsigmoid,
            "hardsigmoid",
            "hardsigmoid_",
            nn.Sigmoid,
            t.sigmoid,
            "sigmoid",
            "sigmoid_",
            nn.Softmax,
        ),
        default_fixed_qparams_range_0to1_observer,
    ),
    **dict.fromkeys((nn.Tanh, t.tanh, "tanh", "tanh_"), default_fixed_qparams_range_neg1to1_observer),
}
_TRANSPOSED: Final = (
    *(nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d),
    *(_F.conv_transpose1d, _F.conv_transpose2d, _F.conv_transpose3d),
)
#: An attribute of `QConfigMapping` → its key in a dictionary, and how many parts the key of an entry has.
_STYLES: Final = {
    "object_type_qconfigs": ("object_type", 1),
    "module_name_regex_qconfigs": ("module_name_regex", 1),
    "module_name_qconfigs": ("module_name", 1),
    "module_name_object_type_order_qconfigs": ("module_name_object_type_order", 3),
}


class QConfigMapping:
    """Say which configuration holds for which module (source: ``torch.ao.quantization.QConfigMapping``).

    Each method returns the mapping itself.
    """

    def __init__(self) -> None:
        self.global_qconfig: QConfigAny = None
        self.object_type_qconfigs: OrderedDict[Any, QConfigAny] = OrderedDict()
        self.module_name_regex_qconfigs: OrderedDict[str, QConfigAny] = OrderedDict()
        self.module_name_qconfigs: OrderedDict[str, QConfigAny] = OrderedDict()
        self.module_name_object_type_order_qconfigs: OrderedDict[tuple[str, Any, int], QConfigAny] = OrderedDict()

    def set_global(self, global_qconfig: QConfigAny) -> Self:
        """Set the configuration of all modules that no other entry names."""
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type: Any, qconfig: QConfigAny) -> Self:
        """Set the configuration of a class of modules, of a function or of a method's name."""
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex: str, qconfig: QConfigAny) -> Self:
        """Set the configuration of modules whose names fit a pattern."""
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name: str, qconfig: QConfigAny) -> Self:
        """Set the configuration of a module by its dotted name."""
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(
        self, module_name: str, object_type: Any, index: int, qconfig: QConfigAny
    ) -> Self:
        """Set the configuration of the call number ``index`` of a kind within a module."""
        self.module_name_object_type_order_qconfigs[module_name, object_type, index] = qconfig
        return self

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} (", " global_qconfig", f"  {self.global_qconfig}"]
        for style in _STYLES:
            entries = getattr(self, style)
            lines += [f" {style}", *([f"  {key}: {each}" for key, each in entries.items()] or [f"  {entries}"])]
        return "\n".join([*lines, ")"])

    def to_dict(self) -> dict[str, Any]:
        """Return the entries as a dictionary of lists."""
        found: dict[str, Any] = {"": self.global_qconfig}
        for style, (key, parts) in _STYLES.items():
            found[key] = [(*name, each) if parts > 1 else (name, each) for name, each in getattr(self, style).items()]
        return found

    @classmethod
    def from_dict(cls, qconfig_dict: dict[str, Any]) -> QConfigMapping:
        """Return a mapping of such a dictionary."""
        made = cls().set_global(qconfig_dict.get(""))
        for style, (key, parts) in _STYLES.items():
            for *name, each in qconfig_dict.get(key, []):
                getattr(made, style)[tuple(name) if parts > 1 else name[0]] = each
        return made


def _make(is_trained: bool, backend: str, version: int) -> QConfigMapping:
    qconfig = (get_default_qat_qconfig if is_trained else get_default_qconfig)(backend, version)
    weight = default_weight_fake_quant if is_trained else default_weight_observer
    transposed = QConfig(qconfig.activation, weight) if backend in ("fbgemm", "x86") else qconfig
    mapping = QConfigMapping().set_global(qconfig).set_object_type("reshape", default_reuse_input_qconfig)
    for each in _TRANSPOSED:
        mapping.set_object_type(each, transposed)
    layer_norm = QConfig(qconfig.activation, default_placeholder_observer)
    mapping.set_object_type(_F.layer_norm, layer_norm).set_object_type(nn.LayerNorm, layer_norm)
    mapping.set_object_type(nn.PReLU, default_quint8_weight_qconfig)
    made = {
        observer: QConfig(FixedQParamsFakeQuantize.with_args(observer=observer) if is_trained else observer, weight)
        for observer in dict.fromkeys(_FIXED.values())
    }
    for kind, observer in _FIXED.items():
        mapping.set_object_type(kind, made[observer])
    return mapping


def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> QConfigMapping:
    """Return the configurations of networks that are quantized after training."""
    return _make(False, backend, version)


def get_default_qat_qconfig_mapping(backend: str = "x86", version: int = 1) -> QConfigMapping:
    """Return the configurations of networks that are trained with simulated quantization."""
    return _make(True, backend, version)


def get_default_qconfig_dict(backend: str = "x86", version: int = 0) -> dict[str, Any]:
    """Return `get_default_qconfig_mapping` as a dictionary."""
    return get_default_qconfig_mapping(backend, version).to_dict()


def get_default_qat_qconfig_dict(backend: str = "x86", version: int = 1) -> dict[str, Any]:
    """Return `get_default_qat_qconfig_mapping` as a dictionary."""
    return get_default_qat_qconfig_mapping(backend, version).to_dict()
