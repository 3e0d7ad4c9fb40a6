"""A module's parts by their dotted names: walking over them, and finding one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..history.captures import see_module
from ..names.lazy_names import import_lazily
from ..tensors.tensor import Tensor
from .parameter import Parameter

if TYPE_CHECKING:
    from .modules.module import Module
else:
    Module = import_lazily("torchlike.nn.modules.module", "Module")


class Tree:
    """The part of `Module` that knows its submodules, and by them all parameters and buffers."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def named_children(self) -> Iterator[tuple[str, Module]]:
        seen: set[Module] = set()
        see_module(self)
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        for _, module in self.named_children():
            yield module

    def named_modules(
        self: Any, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        memo = set() if memo is None else memo
        see_module(self)
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def _named_members(
        self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[Tensor] = set()
        see_module(self)
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in getattr(module, kind).items():
                if value is not None and value not in seen:
                    if remove_duplicate:
                        seen.add(value)
                    yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        yield from self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        yield from self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def _find(self, target: str, wanted: type, called: str) -> Any:
        """Find an attribute by its dotted path; raises ``AttributeError`` where it is missing or something else."""
        if not isinstance(target, str):
            raise TypeError(f"target must be str, not {type(target).__name__}")
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        found = getattr(module, name)
        if not isinstance(found, wanted):
            raise AttributeError(f"`{name}` is not {called}")
        return found

    def get_submodule(self, target: str) -> Module:
        """Find a submodule by its dotted path, the module itself by an empty one."""
        if not isinstance(target, str):
            raise TypeError(f"target must be str, not {type(target).__name__}")
        module: Any = self
        for name in target.split(".") if target else ():
            module = module._find(name, Tree, "an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a submodule at a dotted path; with ``strict`` there must be one."""
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Tree):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            parent._find(name, Tree, "an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Find a parameter by its dotted path."""
        return self._find(target, Parameter, "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """Find a buffer by its dotted path."""
        found: Tensor = self._find(target, object, "a buffer")
        path, _, name = target.rpartition(".")
        if name not in self.get_submodule(path)._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found
