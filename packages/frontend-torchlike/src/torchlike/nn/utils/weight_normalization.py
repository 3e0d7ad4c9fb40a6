"""Weight normalization by a hook (source: ``torch.nn.utils.weight_norm``; Salimans and Kingma, 2016)."""

from __future__ import annotations

import warnings
from typing import Any

import dispatch_core as dc

from ..modules.module import Module
from ..parameter import Parameter


class WeightNorm:
    """The hook: sets the weight before every ``forward``."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """Return the directions in the sizes."""
        size, direction = (getattr(module, f"{self.name}_{letter}") for letter in "gv")
        return dc.ops.aten._weight_norm.default(direction, size, self.dim)

    def remove(self, module: Module) -> None:
        """Make the weight a plain parameter with its present value."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        for letter in "gv":
            del module._parameters[f"{self.name}_{letter}"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train the sizes ``NAME_g`` and the directions ``NAME_v`` of a weight apart."""
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    fn = WeightNorm(name, dim)
    weight = getattr(module, name)
    if hasattr(type(weight), "cls_to_become"):
        raise ValueError(
            "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy forward "
            "before applying weight normalization"
        )
    del module._parameters[name]
    size = dc.ops.aten.norm_except_dim.default(weight, 2, fn.dim)
    module.register_parameter(name + "_g", Parameter(size.data))
    module.register_parameter(name + "_v", Parameter(weight.data))
    setattr(module, name, fn.compute_weight(module))
    module.register_forward_pre_hook(fn)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a plain parameter again; raises ``ValueError`` where it is none of ``weight_norm``."""
    for number, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
