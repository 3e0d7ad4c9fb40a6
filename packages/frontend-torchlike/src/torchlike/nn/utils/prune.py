"""Weights of which some elements stay zero (source: ``torch.nn.utils.prune``).

A pruned parameter ``NAME`` becomes the product of the parameter ``NAME_orig`` and the buffer ``NAME_mask``, made before
every ``forward``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from ...creation.factories import FACTORIES
from ...functions.operator_functions import FUNCTIONS
from ...tensors.tensor import Tensor
from ..modules.module import Module

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, (int, float)):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (isinstance(amount, float) and amount > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _count(amount: Any, size: int) -> int:
    """Return the number of units to prune, of ``size``."""
    if not isinstance(amount, int):
        return round(amount * size)
    if amount > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return amount


class BasePruningMethod(ABC):
    """A way to choose the elements that become zero; as a hook, it sets the weight before every ``forward``."""

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return ``default_mask`` with more zeros in it."""

    def apply_mask(self, module: Module) -> Any:
        """Return the parameter times its mask."""
        original, mask = (getattr(module, f"{self._tensor_name}_{part}") for part in ("orig", "mask"))
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune the parameter ``name`` of a module, further if it is pruned already."""
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        known = [
            (number, hook)
            for number, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        original: Any = getattr(module, f"{name}_orig" if known else name)
        before = getattr(module, f"{name}_mask") if known else FUNCTIONS["ones_like"](original)
        scores = getattr(module, name) if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter                     {name} of {module}"
            )
        if known:
            number, hook = known[0]
            del module._forward_pre_hooks[number]
            container = PruningContainer(hook)
            container.add_pruning_method(method)
            method = container
        mask = method.compute_mask(scores, before)
        if not known:
            module.register_parameter(f"{name}_orig", original)
            del module._parameters[name]
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """Return a tensor with some elements set to zero."""
        before = FUNCTIONS["ones_like"](t) if default_mask is None else default_mask
        return t * self.compute_mask(t if importance_scores is None else importance_scores, before)

    def remove(self, module: Module) -> None:
        """Make the pruned values a plain parameter."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters[f"{name}_orig"]
        original.data = weight.data
        del module._parameters[f"{name}_orig"]
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods, one after the other, on the part that those before have left."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args:
            if not self._pruning_methods:
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method of the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer "
                f"{self}. Found '{method._tensor_name}'"
            )
        more = method._pruning_methods if isinstance(method, PruningContainer) else (method,)
        self._pruning_methods += more

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask after the last method, which sees the part that is left."""
        method, mask = self._pruning_methods[-1], default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            part: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = getattr(method, "dim", -1) % t.dim()
            alive = mask.sum([each for each in range(t.dim()) if each != dim]) != 0
            part = (slice(None),) * dim + (alive,)
        else:
            part = (slice(None),) * t.dim()
        found = mask.clone()
        found[part] = method.compute_mask(t[part], mask[part]).to(mask.dtype)
        return found


class Identity(BasePruningMethod):
    """Prune nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return ``default_mask``."""
        return default_mask


class _ByAmount(BasePruningMethod):
    """A method that takes a number or a share of elements."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _check_amount(amount)
        self.amount = amount

    def _choose(self, t: Any, count: int) -> Any:
        """Return the places of ``count`` elements of the flattened tensor."""
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return ``default_mask`` with zeros at the places chosen."""
        count = _count(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[self._choose(t, count)] = 0
        return mask


class RandomUnstructured(_ByAmount):
    """Prune elements at random."""

    def _choose(self, t: Any, count: int) -> Any:
        return FUNCTIONS["rand_like"](t).view(-1).topk(count).indices


class L1Unstructured(_ByAmount):
    """Prune the elements that are nearest to zero."""

    def _choose(self, t: Any, count: int) -> Any:
        return t.abs().view(-1).topk(count, largest=False).indices


class CustomFromMask(BasePruningMethod):
    """Prune where a mask says so."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return both masks' product."""
        return default_mask * self.mask.to(default_mask.dtype)


class _Structured(BasePruningMethod):
    """A method that takes whole channels along a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def _choose(self, t: Any, count: int, size: int) -> Any:
        """Return the ``count`` channels, of ``size``, that are pruned."""
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return ``default_mask`` with zeros in the channels chosen."""
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to a multidimensional tensor. Found tensor of shape "
                f"{tuple(t.shape)} with {t.dim()} dims"
            )
        size = t.shape[self.dim]
        count = _count(self.amount, size)
        if not count:
            return default_mask
        mask = default_mask.clone()
        mask[(slice(None),) * (self.dim % t.dim()) + (self._choose(t, count, size),)] = 0
        return mask


class RandomStructured(_Structured):
    """Prune channels at random."""

    def _choose(self, t: Any, count: int, size: int) -> Any:
        return FACTORIES["rand"](size, device=t.device).topk(count, largest=False).indices


class LnStructured(_Structured):
    """Prune the channels with the least norm."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _choose(self, t: Any, count: int, size: int) -> Any:
        others = [each for each in range(t.dim()) if each != self.dim % t.dim()]
        return FUNCTIONS["norm"](t, self.n, others).topk(count, largest=False).indices


def identity(module: Module, name: str) -> Module:
    """Prune nothing, but have the mask and the original."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    """Prune elements at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Any, importance_scores: Any = None) -> Module:
    """Prune the elements that are nearest to zero."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    """Prune channels along ``dim`` at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Module:
    """Prune the channels along ``dim`` with the least norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune where ``mask`` is zero."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Sequence[tuple[Module, str]], pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune several parameters as if they were one."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = importance_scores or {}
    originals = [getattr(module, name) for module, name in parameters]
    masks = [getattr(module, f"{name}_mask", None) for module, name in parameters]
    given = [scores.get(pair, original) for pair, original in zip(parameters, originals, strict=True)]
    flat = FUNCTIONS["cat"]([each.reshape(-1) for each in given])
    before = FUNCTIONS["cat"](
        [
            (FUNCTIONS["ones_like"](original) if mask is None else mask).reshape(-1)
            for original, mask in zip(originals, masks, strict=True)
        ]
    )
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    found, start = container.compute_mask(flat, before), 0
    for (module, name), original in zip(parameters, originals, strict=True):
        end = start + original.numel()
        custom_from_mask(module, name, found[start:end].view_as(original))
        start = end


def remove(module: Module, name: str) -> Module:
    """Make the pruned values a plain parameter; raises ``ValueError`` where the parameter is not pruned."""
    for number, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Return whether a parameter of a module, or of one below it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod) for each in module.modules() for hook in each._forward_pre_hooks.values()
    )
