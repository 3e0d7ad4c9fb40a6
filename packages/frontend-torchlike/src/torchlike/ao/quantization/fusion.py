"""Layers of a network made one (source: ``torch.ao.quantization.fuse_modules``)."""

from __future__ import annotations

import copy
from typing import Any

from torchlike import nn
from torchlike.nn.utils.parametrize import type_before_parametrizations

from .fuser_method_mappings import get_fuser_method
from .utils import getattr_from_fqn

__all__ = ["fuse_known_modules", "fuse_modules", "fuse_modules_qat"]


def fuse_known_modules(mod_list: Any, is_qat: bool, additional_fuser_method_mapping: Any = None) -> list[Any]:
    """Return one module and ``Identity`` for each further one in ``mod_list``; hooks go along."""
    types = tuple(map(type_before_parametrizations, mod_list))
    fused = get_fuser_method(types, additional_fuser_method_mapping)(is_qat, *mod_list)
    for hook in mod_list[0]._forward_pre_hooks.values():
        fused.register_forward_pre_hook(hook)
    for hook in mod_list[-1]._forward_hooks.values():
        fused.register_forward_hook(hook)
    mod_list[0]._forward_pre_hooks.clear()
    mod_list[-1]._forward_hooks.clear()
    return [fused, *(nn.Identity().train(mod_list[0].training) for _ in mod_list[1:])]


def _fuse(model: Any, names: Any, is_qat: bool, fuser_func: Any, settings: Any) -> None:
    methods = (settings or {}).get("additional_fuser_method_mapping", {})
    made = fuser_func([getattr_from_fqn(model, name) for name in names], is_qat, methods)
    for name, module in zip(names, made, strict=True):
        *path, last = name.split(".")
        setattr(getattr_from_fqn(model, ".".join(path)) if path else model, last, module)


def _fuse_all(model: Any, modules_to_fuse: Any, is_qat: bool, inplace: bool, fuser_func: Any, settings: Any) -> Any:
    model = model if inplace else copy.deepcopy(model)
    one = all(isinstance(each, str) for each in modules_to_fuse)
    for names in [modules_to_fuse] if one else modules_to_fuse:
        _fuse(model, names, is_qat, fuser_func, settings)
    return model


def fuse_modules(
    model: Any,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:
    """Return a network, evaluated, with some layers fused (source: ``torch.ao.quantization.fuse_modules``).

    ``modules_to_fuse`` is a list of names, or of such lists: convolution or linear layer, batch normalization, ReLU.

    >>> from torchlike import nn
    >>> fuse_modules(nn.Sequential(nn.Linear(3, 2), nn.ReLU()).eval(), ["0", "1"])[1]
    Identity()
    """
    return _fuse_all(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model: Any,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:
    """Return a network, to be trained, with some layers fused (source: ``torch.ao.quantization.fuse_modules_qat``)."""
    return _fuse_all(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)
