"""Helpers of handlers: results as an operator's schema promises them, and tensors that are taken apart into others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeGuard, runtime_checkable

from dispatch_core.frontends import call_signature

from ..tensors.overriding_classes import is_wrapper
from ..tensors.tensor import Tensor

__all__ = ["TensorWithFlatten", "is_traceable_wrapper_subclass", "return_and_correct_aliasing", "transform_subclass"]


@runtime_checkable
class TensorWithFlatten(Protocol):
    """A tensor of a class that is taken apart into others, and made of them (source: ``torch.utils._python_dispatch``)."""

    def __tensor_flatten__(self) -> tuple[Sequence[str], object]:
        """Return the names of the attributes that are tensors, and what else the tensor is made of."""

    @staticmethod
    def __tensor_unflatten__(
        inner_tensors: dict[str, Any], flatten_spec: Any, outer_size: Any, outer_stride: Any
    ) -> Any:
        """Return a tensor made of others."""


def is_traceable_wrapper_subclass(t: object) -> TypeGuard[TensorWithFlatten]:
    """Return whether a value is a tensor of a class that can be taken apart (source: ``torch.utils._python_dispatch``).

    >>> import torchlike
    >>> is_traceable_wrapper_subclass(torchlike.ones(2))
    False
    """
    return isinstance(t, Tensor) and type(t) is not Tensor and isinstance(t, TensorWithFlatten)


def transform_subclass(
    t: Any,
    callback: Callable[[str, Any], Any],
    outer_size: Any = None,
    outer_stride: Any = None,
) -> Any:
    """Return a tensor of the same class with other tensors inside (source: ``torch.utils._python_dispatch``).

    ``callback`` gets the name and the tensor of each.
    """
    names, spec = t.__tensor_flatten__()
    changed = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(changed, spec, size, stride)


def return_and_correct_aliasing(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, out: Any) -> Any:
    """Return a handler's result as the operator's schema promises it (source: ``torch.utils._python_dispatch``).

    Where it says that the result is an argument that was written to, the argument is returned; where it is a view of one,
    and both are wrappers, it is said to lie in the argument's memory.

    >>> import torchlike
    >>> x = torchlike.ones(2)
    >>> return_and_correct_aliasing(torchlike.ops.aten.add_.Tensor, (x, x), {}, torchlike.zeros(2)) is x
    True
    """
    signature = call_signature(func)
    given = dict(zip((each.name for each in signature.parameters), args, strict=False)) | (kwargs or {})

    def choose(result: Any, value: Any) -> Any:
        if result.kind not in ("self", "view") or value is None:
            return value
        source = given.get(signature.parameters[result.source].name, value)
        if result.kind == "self":
            return source
        for each in value if isinstance(value, list | tuple) else (value,):
            _lay_into(each, source)
        return value

    if len(signature.results) == 1:
        return choose(signature.results[0], out)
    if isinstance(out, list | tuple) and len(out) == len(signature.results):
        return type(out)(choose(result, value) for result, value in zip(signature.results, out, strict=True))
    return out


def _lay_into(view: Any, source: Any) -> None:
    """Say of a wrapper that it lies in the memory of another."""
    if isinstance(view, Tensor) and isinstance(source, Tensor) and is_wrapper(view) and is_wrapper(source):
        data, memory = view._dispatch_data, source._dispatch_data.storage
        if data.storage is not memory:
            view._dispatch_data = type(data)(data.shape, data.strides, data.dtype, data.storage_offset, memory)
