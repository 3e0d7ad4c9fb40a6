"""Parameters and buffers that are computed from others (source: ``torch.nn.utils.parametrize``)."""

from __future__ import annotations

import copyreg
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from ...history.grad_mode import no_grad
from ...tensors.tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


class _Cache:
    """The tensors computed within `cached`, by module and name, and how many of these blocks are open."""

    depth = 0
    tensors: dict[tuple[int, str], Tensor]

    def __init__(self) -> None:
        self.tensors = {}


_cache = _Cache()


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor at most once within the block."""
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.tensors.clear()


def _register(module: Module, name: str, tensor: Tensor | None) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _put(original: Tensor, value: Tensor) -> None:
    """Give a tensor the elements, and the memory, of another."""
    original.data = value.detach()


def _check_same(what: str, kind: str, before: Tensor, after: Tensor, names: tuple[str, str]) -> None:
    """Refuse a parametrization that changes ``kind``: the dtype or the shape."""
    one, other = getattr(before, kind), getattr(after, kind)
    if one != other:
        shown = (repr(one), repr(other)) if kind == "dtype" else (one, other)
        raise ValueError(f"{what}\n{names[0]}: {shown[0]}\n{names[1]}: {shown[1]}")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the originals that they start from.

    The originals are ``original``, or ``original0``, ``original1`` … where the first parametrization takes several.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new: Any = original
        with no_grad():
            listed: list[Any] = [*self]
            for module in reversed(listed):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        continue
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            for kind in ("dtype", "device"):
                _check_same(
                    f"When `right_inverse` outputs one tensor, it may not change the {kind}.",
                    kind,
                    original,
                    new,
                    (f"original.{kind}", f"right_inverse(original).{kind}"),
                )
            _put(original, new)
            _register(self, "original", original)
        else:
            self._register_originals(new, original)
        if not unsafe:
            found = self()
            if not isinstance(found, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(found).__name__}.")
            for kind, wanted, got in (("dtype", repr(dtype), repr(found.dtype)), ("shape", shape, found.shape)):
                if wanted != got:
                    raise ValueError(
                        f"Registering a parametrization may not change the {kind} of the tensor, unless `unsafe` flag is "
                        f"enabled.\nunparametrized {kind}: {wanted}\nparametrized {kind}: {got}"
                    )

    def _register_originals(self, new: Sequence[Any], original: Tensor) -> None:
        for place, each in enumerate(new):
            if not isinstance(each, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                    f"{place} of the sequence with type {type(each).__name__}."
                )
            tensor = Parameter(each, original.requires_grad) if isinstance(original, Parameter) else each
            tensor.requires_grad_(original.requires_grad)
            _register(self, f"original{place}", tensor)

    def right_inverse(self, value: Any) -> None:
        """Set the originals so that the parametrized tensor is ``value``."""
        with no_grad():
            listed: list[Any] = [*self]
            for module in reversed(listed):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype != self.original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {value.dtype!r} while `original` has dtype "
                        f"{self.original.dtype!r}"
                    )
                _put(self.original, value)
                return
            if not isinstance(value, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            if len(value) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                    f"length {len(value)}."
                )
            for place, each in enumerate(value):
                original = getattr(self, f"original{place}")
                if each.dtype != original.dtype:
                    raise ValueError(
                        f"Tensor {place} returned by `right_inverse` has dtype {each.dtype!r} while `original{place}` has "
                        f"dtype {original.dtype!r}"
                    )
                _put(original, each)

    def forward(self) -> Any:
        first, *rest = self
        if self.is_tensor:
            found = first(self.original)
        else:
            found = first(*(getattr(self, f"original{place}") for place in range(self.ntensors)))
        for module in rest:
            found = module(found)
        return found


def _copy_deeply(self: Any, memo: dict[int, Any]) -> Any:
    known = memo.get(id(self))
    if known is not None:
        return known
    replica = memo[id(self)] = self.__new__(self.__class__)
    replica.__dict__ = deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]  # as copy itself does
        if hasattr(self, slot):
            setattr(replica, slot, deepcopy(getattr(self, slot), memo))
    return replica


def _refuse_pickle(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _give_own_class(module: Module) -> None:
    """Give a module a class of its own, which takes the properties."""
    cls = type(module)
    methods: dict[str, Any] = {"__getstate__": _refuse_pickle}
    if not hasattr(cls, "__deepcopy__"):
        methods["__deepcopy__"] = _copy_deeply
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), methods)


def _add_property(module: Module, name: str) -> None:
    if hasattr(module, name):
        raise AssertionError(f"Module already has an attribute named '{name}'")

    def compute(self: Any) -> Any:
        parametrization = self.parametrizations[name]
        if not _cache.depth:
            return parametrization()
        key = id(self), name
        if key not in _cache.tensors:
            _cache.tensors[key] = parametrization()
        return _cache.tensors[key]

    def put(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(compute, put))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer of ``module`` by ``parametrization(original)`` from now on.

    The original moves to ``module.parametrizations.NAME.original``; assigning to the tensor calls ``right_inverse``.

    >>> import torchlike
    >>> class Symmetric(Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).transpose(0, 1)
    >>> layer = register_parametrization(torchlike.nn.Linear(3, 3), "weight", Symmetric())
    >>> torchlike.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(module, tensor_name, parametrization)
        known: Any = module.parametrizations
        known[tensor_name].append(parametrization)
        known[tensor_name].unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _give_own_class(module)
        module.parametrizations = ModuleDict()
    _add_property(module, tensor_name)
    parametrizations: Any = module.parametrizations
    parametrizations[tensor_name] = made
    return module


def _check_next(module: Module, name: str, parametrization: Any) -> None:
    """Refuse a further parametrization that would change the tensor's dtype or shape."""
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for kind in ("dtype", "shape"):
        _check_same(
            f"Registering a parametrization may not change the {kind} of the tensor, unless the `unsafe` flag is enabled.",
            kind,
            before,
            after,
            (f"module.{name}.{kind}", f"parametrization(module.{name}).{kind}"),
        )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for kind in ("dtype", "shape"):
        _check_same(
            f"The tensor returned by parametrization.right_inverse must have the same {kind} as module.{name}, unless the "
            "`unsafe` flag is enabled.",
            kind,
            before,
            back,
            (f"module.{name}.{kind}", f"returned {kind}"),
        )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a module has parametrizations, or one of a tensor."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrized tensor a plain one again: with its present value, or else the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    known: Any = module.parametrizations
    parametrizations = known[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                _put(original, getattr(module, tensor_name))
    elif leave_parametrized:
        found = getattr(module, tensor_name)
        original = Parameter(found) if found.requires_grad else found
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence "
            "of tensors."
        )
    delattr(type(module), tensor_name)
    del known[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Copy the parametrizations of a module, with their originals, to another."""
    if not is_parametrized(from_module):
        return to_module
    source: Any = from_module.parametrizations
    for name in source if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source[name]:
            register_parametrization(to_module, name, parametrization)
        target: Any = to_module.parametrizations
        originals = ["original"] if source[name].is_tensor else [f"original{n}" for n in range(source[name].ntensors)]
        for original in originals:
            setattr(target[name], original, getattr(source[name], original))
    return to_module
