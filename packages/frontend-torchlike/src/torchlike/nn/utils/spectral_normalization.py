"""Spectral normalization by a hook (source: ``torch.nn.utils.spectral_norm``; Miyato et al., 2018)."""

from __future__ import annotations

from typing import Any

from ...functions.operator_functions import FUNCTIONS, NAMESPACES
from ...history.grad_mode import no_grad
from ...tensors.tensor import Tensor
from .. import functional as F  # noqa: N812  # torch's own abbreviation
from .. import modules
from ..modules.module import Module
from ..parameter import Parameter


def find_dim(module: Module, dim: int | None) -> int:
    """Return the dimension of a weight's outputs."""
    if dim is not None:
        return dim
    return int(isinstance(module, (modules.ConvTranspose1d, modules.ConvTranspose2d, modules.ConvTranspose3d)))


def to_matrix(weight: Tensor, dim: int) -> Tensor:
    """Return a weight as a matrix with ``dim`` as its rows."""
    if dim:
        weight = weight.permute(dim, *(each for each in range(weight.dim()) if each != dim))
    found: Tensor = weight.reshape(weight.size(0), -1)
    return found


class SpectralNorm:
    """The hook: sets the weight before every ``forward``."""

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """Return the weight as a matrix."""
        return to_matrix(weight, self.dim)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Any:
        """Return the weight divided by its norm, which is estimated first where asked."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix: Any = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # the buffers change before backward
        return weight / FUNCTIONS["dot"](u, matrix.mv(v))

    def remove(self, module: Module) -> None:
        """Make the weight a plain parameter with its present value."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def solve_v(self, matrix: Any, u: Any, target_sigma: Any) -> Any:
        """Return the right singular vector that a state of an old version left out."""
        inverse = NAMESPACES["linalg"]["pinv"](matrix.t().mm(matrix))
        v = inverse.mm(matrix.t()).mv(u)
        return v * (target_sigma / u.dot(matrix.mv(v)))


class _MarkVersion:
    """A hook after saving."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        local_metadata.setdefault("spectral_norm", {})[f"{self.fn.name}.version"] = self.fn._version


class _ReadVersion:
    """A hook before loading, for states without a right singular vector."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        *_: Any,
    ) -> None:
        fn, key = self.fn, prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(f"{fn.name}.version")
        if version is not None or (key not in state_dict and key + "_v" in state_dict):
            return
        missing = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if missing:
            missing_keys.extend(missing if strict else [])
            return
        with no_grad():
            original, u = state_dict[key + "_orig"], state_dict[key + "_u"]
            sigma = (original / state_dict.pop(key)).mean()
            state_dict[key + "_v"] = fn.solve_v(fn.reshape_weight_to_matrix(original), u, sigma)


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its greatest singular value, estimated by a step of power iteration at every call."""
    if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    fn = SpectralNorm(name, n_power_iterations, find_dim(module, dim), eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    with no_grad():
        drawn = [weight.new_empty(size).normal_(0, 1) for size in fn.reshape_weight_to_matrix(weight).shape]
        u, v = (F.normalize(each, dim=0, eps=eps) for each in drawn)
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(fn)
    module._register_state_dict_hook(_MarkVersion(fn))
    module._register_load_state_dict_pre_hook(_ReadVersion(fn))
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a plain parameter again; raises ``ValueError`` where it is none of ``spectral_norm``."""
    for number, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for hooks in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for number, found in list(hooks.items()):
            inner = getattr(found, "hook", found)
            if isinstance(inner, (_MarkVersion, _ReadVersion)) and inner.fn.name == name:
                del hooks[number]
    return module
