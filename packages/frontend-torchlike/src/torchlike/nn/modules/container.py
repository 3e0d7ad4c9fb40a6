"""Modules that hold modules."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain
from operator import index as as_index
from typing import Any, Self, overload

from ...tensors.tensor import Tensor
from .module import Module


class Container(Module):
    """Named modules: torch's first container, which warns (source: ``torch.nn.Container``)."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warnings.warn(
            "nn.Container is deprecated. All of it's functionality is now implemented in nn.Module. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class _IndexedModules(Module):
    """Modules in a row, named by their places."""

    _modules: dict[str, Module]  # type: ignore[assignment]  # never None here

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._make_container(list(self._modules.items())[index])
        return self._modules[self._get_module_name(index)]

    def _make_container(self, items: list[tuple[str, Module]]) -> Any:
        """Make a container of some of the modules."""
        raise NotImplementedError

    def _get_module_name(self, index: int) -> str:
        """Return the name of the module at a place."""
        index = self._get_abs_index(index)
        return list(self._modules)[index]

    def _get_abs_index(self, index: int) -> int:
        index = as_index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return index % len(self)

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._get_module_name(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = [
            self._get_module_name(place) for place in (range(len(self))[index] if isinstance(index, slice) else [index])
        ]
        for name in names:
            getattr(self, name)  # all are there, or none is deleted
        for name in names:
            delattr(self, name)
        self._modules = {str(place): module for place, module in enumerate(self._modules.values())}

    def pop(self, key: int | slice) -> Any:
        """Take a module, or several, out."""
        found = self[key]
        del self[key]
        return found

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def _shift(self, index: int, module: Module) -> None:
        """Put a module at ``index``; those from there on move up by one."""
        moved = [self._modules[str(place)] for place in range(index, len(self))]
        for place, each in enumerate([module, *moved], index):
            self._modules[str(place)] = each


class Sequential(_IndexedModules):
    """Modules that run one after the other (source: ``torch.nn.Sequential``).

    >>> from torchlike import nn
    >>> nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    @overload
    def __init__(self, *args: Module) -> None: ...
    @overload
    def __init__(self, arg: OrderedDict[str, Module], /) -> None: ...
    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self.extend(args)

    def _make_container(self, items: list[tuple[str, Module]]) -> Sequential:
        return type(self)(OrderedDict(items))

    # The last module's result is returned: a tensor, as a rule.
    def forward(self, input: Any) -> Tensor:
        for module in self:
            input = module(input)
        return input

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at ``index``."""
        if not isinstance(module, Module):
            raise TypeError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        self._shift(index + len(self) if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in sequential:
            self.append(module)
        return self

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self, *self._check_sequential(other))

    def __iadd__(self, other: Sequential) -> Self:
        return self.extend(list(self._check_sequential(other)))

    @staticmethod
    def _check_sequential(other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return other

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*list(self) * self._check_factor(other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        return self.extend(list(self) * (self._check_factor(other) - 1))

    def _check_factor(self, other: Any) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return other


class ModuleList(_IndexedModules):
    """A list of modules whose parameters are found; it has no ``forward`` of its own."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _make_container(self, items: list[tuple[str, Module]]) -> ModuleList:
        return type(self)(module for _, module in items)

    def _get_module_name(self, index: int) -> str:
        return str(self._get_abs_index(index))

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at ``index``."""
        self._shift(index, module)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for place, module in enumerate(modules, len(self)):
            self.add_module(str(place), module)
        return self

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        lines: list[str] = []
        runs: list[list[Any]] = []  # the first place, the last, and the text of modules that look alike
        for place, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = place
            else:
                runs.append([place, place, text])
        for first, last, text in runs:
            label = f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            lines.append("\n  " + label.replace("\n", "\n  "))
        return f"{self._get_name()}(" + "".join(lines) + ("\n)" if lines else ")")


class ModuleDict(Module):
    """Modules by name whose parameters are found; it has no ``forward`` of its own."""

    _modules: dict[str, Module]  # type: ignore[assignment]  # never None here

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, name: str) -> Module:
        return self._modules[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take a module out."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | ModuleDict | Iterable[tuple[str, Module]]) -> None:
        """Add modules from a mapping or from pairs; names that are taken keep their place and get the new module."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"ModuleDict.update should be called with an iterable of key/value pairs, but got {type(modules).__name__}"
            )
        if isinstance(modules, (Mapping, ModuleDict)):
            for name, module in modules.items():
                self[name] = module
            return
        for place, pair in enumerate(modules):
            if not isinstance(pair, Iterable):
                raise TypeError(
                    f"ModuleDict update sequence element #{place} should be Iterable; is {type(pair).__name__}"
                )
            if len(pair) != 2:  # a pair
                raise ValueError(f"ModuleDict update sequence element #{place} has length {len(pair)}; 2 is required")
            self[pair[0]] = pair[1]
