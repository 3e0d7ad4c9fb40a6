"""Classes of tensors that get the calls of operators below autograd, by ``__torch_dispatch__``.

Note [Wrappers]
    A class with ``__torch_dispatch__`` may have tensors without elements, which wrap others: `make_wrapper` gives them the
    shape, dtype and strides of an array on meta, and the device that the program names. Their operators must not come
    to a kernel: each call is the class's, until the program excludes the key ``Python``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import dispatch_core as dc
from dispatch_aten.shapes import storage_extent
from dispatch_core.frontends import call_signature

from ..functions.number_arguments import show_call
from ..overriding.handling import add_overriding
from ..tensors.arrays import give_class
from ..tensors.overriding_classes import DISABLED_DISPATCH, WRAPPED, is_wrapper
from ..tensors.tensor import Tensor, wrap
from ..values.devices import as_device, default_device
from ..values.layouts import strided


def find_handlers(values: Sequence[Any]) -> list[Any]:
    """Return one tensor of each class that handles calls of operators, in the order of asking."""
    found: list[Any] = []
    for value in values:
        for each in value if isinstance(value, list | tuple) else (value,):
            kind: Any = type(each)
            if isinstance(each, Tensor) and kind is not Tensor and kind.__torch_dispatch__ is not DISABLED_DISPATCH:
                add_overriding(found, each)
    return found


def call_class(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], rules: Mapping[tuple[str, type], Callable[..., Any]]
) -> Any:
    """Return what the first class that answers makes of an operator's call, ``NotImplemented`` where there is none.

    ``rules`` maps an operator's name and a class to the function that has the place of the class's method.
    Raises ``TypeError`` where all of them return ``NotImplemented``.
    """
    found = find_handlers((*args, *kwargs.values())) if op.namespace != "prims" else []
    if not found:
        return NotImplemented
    types = tuple(map(type, found))
    op, args, kwargs = show_call(op, args, kwargs)
    for each in found:
        rule = rules.get((op.name, type(each))) if rules else None
        handle = each.__torch_dispatch__ if rule is None else partial(rule, type(each))
        result = handle(op, types, args, kwargs)
        if result is not NotImplemented:
            _count_versions(op, result, args, kwargs)
            return result
    raise TypeError(
        f"Multiple dispatch failed for {op.name!r}; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
        + "\n".join(f"  - tensor subclass {kind!r}" for kind in types)
    )


def _count_versions(op: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Count writes to wrappers, and those to a view of one as its own: no kernel does, as none has run for them."""
    signature = call_signature(op)
    names = (each.name for each in signature.parameters)
    given = dict(zip(names, args, strict=False)) | kwargs
    for each in signature.results:
        source = given.get(signature.parameters[each.source].name) if each.kind in ("self", "view") else None
        if not isinstance(source, Tensor) or not is_wrapper(source):
            continue
        if each.kind == "self":
            source._count_write()
        elif isinstance(result, Tensor) and result is not source and is_wrapper(result):
            result._state.storage = source._state.shared_storage()


def make_wrapper(
    cls: type[Tensor],
    size: Sequence[int],
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    **options: Any,
) -> Tensor:
    """Return a tensor of a class without elements, for one that wraps others (source: ``torch.Tensor``).

    See Note [Wrappers]. Raises ``TypeError`` for a class without ``__torch_dispatch__``.
    """
    kind: Any = cls
    if kind.__torch_dispatch__ is DISABLED_DISPATCH:
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__ to be wrapped without elements")
    place = as_device(device) or default_device() or dc.Device("cpu")
    meta = dc.Device("meta")
    sizes = tuple(size)
    with dc.exclude_keys("TorchFunction", "Python"):
        if strides is None:
            array = dc.ops.aten.empty(sizes, dtype=dtype, device=meta, memory_format=memory_format)
        else:
            reach = (storage_offset or 0) + storage_extent(sizes, tuple(strides))
            memory = dc.ops.aten.empty((reach,), dtype=dtype, device=meta)
            array = dc.ops.aten.as_strided(memory, sizes, tuple(strides), storage_offset or 0)
        made = array if isinstance(array, Tensor) else wrap(array)
    if place.type == "cpu":
        made._dispatch_mask = made._dispatch_mask & ~dc.DispatchKey.Meta | dc.DispatchKey.CPU
    made = give_class(made, cls)
    made.__dict__[WRAPPED] = place
    return made._require_grad() if requires_grad else made


def read_device(plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the getter of a tensor's device that knows of wrappers."""

    def device(self: Tensor) -> Any:
        found = self.__dict__.get(WRAPPED)
        return plain(self) if found is None else found

    return device
