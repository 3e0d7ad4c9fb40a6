"""The call that is exported: its inputs by name, their dynamic dimensions, and the call with other sizes of these."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..nn import Module
from ..tensors.tensor import Tensor
from .errors import OnnxExporterError

__all__ = ["ExportedCall", "flatten"]


class ExportedCall:
    """The call that is exported: a model with its arguments, and the tensors among these by name."""

    def __init__(self, model: Any, args: Any, kwargs: Mapping[str, Any], names: Sequence[str] | None) -> None:
        args = args if isinstance(args, tuple) else (args,)
        if (
            args
            and isinstance(args[-1], dict)
            and not kwargs
            and isinstance(model, Module)
            and not _takes_dict(model, args)
        ):
            args, kwargs = args[:-1], args[-1]
        self.model = model
        signature = inspect.signature(model.forward if isinstance(model, Module) else model)
        self._bound = signature.bind(*args, **kwargs)
        places = [(name, value) for name, value in flatten(dict(self._bound.arguments)) if isinstance(value, Tensor)]
        given = list(names or ())
        if len(given) > len(places):
            raise OnnxExporterError(
                f"{len(given)} input_names for {len(places)} tensors: {', '.join(n for n, _ in places)}"
            )
        self.names = [*given, *(name for name, _ in places[len(given) :])]
        self.tensors = [value for _, value in places]

    def dynamic(self, axes: Mapping[str, Any], shapes: Any) -> dict[str, dict[int, str]]:
        """Return the names of the dynamic dimensions of each input that has any."""
        found: dict[str, dict[int, str]] = {}
        asked = {name: each for name, each in axes.items() if name in self.names}
        if shapes is not None:
            own = dict(zip(self._bound.arguments, shapes, strict=False)) if isinstance(shapes, list | tuple) else shapes
            asked |= {name: each for name, each in flatten(dict(own), leaf=_is_dimensions) if each}
        for name, each in asked.items():
            if name not in self.names:
                raise OnnxExporterError(f"no input is called {name!r}; there are {', '.join(self.names)}")
            dims = (
                each
                if isinstance(each, Mapping)
                else dict.fromkeys(each)
                if not _is_specs(each)
                else dict(enumerate(each))
            )
            rank = self.tensors[self.names.index(name)].dim()
            found[name] = {
                axis % rank: str(getattr(dim, "__name__", dim) or f"{name}_{axis}")
                for axis, dim in dims.items()
                if not _is_static(dim)
            }
        return found

    def with_sizes(
        self, dynamic: Mapping[str, Mapping[int, str]], sizes: Mapping[str, int]
    ) -> tuple[Any, list[Tensor]]:
        """Return a bound call whose dynamic dimensions have these sizes, and its tensors."""
        import torchlike

        made: dict[int, Tensor] = {}
        for name, tensor in zip(self.names, self.tensors, strict=True):
            resized = tensor.detach()
            for axis, dim in dynamic.get(name, {}).items():
                index = torchlike.arange(sizes[dim]) % tensor.shape[axis]
                resized = resized.index_select(axis, index.to(tensor.device))
            made.setdefault(id(tensor), resized)
        bound = inspect.BoundArguments(self._bound.signature, dict(self._bound.arguments))
        bound.arguments = _replace(bound.arguments, made)
        return bound, [made[id(each)] for each in self.tensors]


def _takes_dict(model: Module, args: tuple[Any, ...]) -> bool:
    return len(inspect.signature(model.forward).parameters) == len(args)


def _is_dimensions(value: Any) -> bool:
    return (
        value is None
        or (isinstance(value, Mapping) and all(isinstance(each, int) for each in value))
        or _is_specs(value)
    )


def _is_specs(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(not isinstance(each, int | dict | list | tuple) for each in value)


def _is_static(dim: Any) -> bool:
    return isinstance(dim, int) or getattr(dim, "name", "") == "STATIC"


def flatten(
    value: Any, name: str = "", leaf: Any = lambda value: isinstance(value, Tensor)
) -> Iterator[tuple[str, Any]]:
    """Yield the parts of nested containers with names made of their places."""
    parts: Any = ()
    if leaf(value) and name:
        yield name, value
    elif isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, list | tuple):
        parts = enumerate(value)
    elif name:
        yield name, value
    for key, each in parts:
        yield from flatten(each, f"{name}_{key}" if name else str(key), leaf)


def _replace(value: Any, made: Mapping[int, Any]) -> Any:
    """Return nested containers with other tensors."""
    if isinstance(value, Tensor):
        return made.get(id(value), value)
    if isinstance(value, Mapping):
        return {name: _replace(each, made) for name, each in value.items()}
    if isinstance(value, list | tuple):
        items = [_replace(each, made) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value
