"""Names of torch's dispatcher that programs with operators of their own take of ``torch._C``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import dispatch_core as dc
from dispatch_core import DispatchKey, DispatchKeySet
from dispatch_core.frontends import current_masks, reset_masks, set_masks
from dispatch_core.schema import Argument
from dispatch_core.schema import FunctionSchema as _CoreSchema
from dispatch_core.schema import TorchSchema as FunctionSchema

from ...history.transforms import FRONT
from ...tensors.overriding_classes import PYTHON
from ...tensors.tensor import Tensor
from ..operator_kernels import iterate_tensors
from ..operator_kernels import requires_grad as _any_requires_grad  # noqa: F401  # torch's name
from ..registration_keys import key_of_device
from ..tags import Tag
from ..torch_errors import LibraryError

__all__ = ["Argument", "DispatchKey", "DispatchKeySet", "FunctionSchema", "Tag", "parse_schema"]


class _KeyBlock:
    """Keys that are in every call, or out of it, from the guard's making until the block ends or the guard goes."""

    #: The block that is open.
    _block: Any = None

    def __init__(self, block: Any) -> None:
        block.__enter__()
        self._block = block

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._leave()

    def __del__(self) -> None:
        self._leave()

    def _leave(self) -> None:
        block, self._block = self._block, None
        if block is not None:
            block.__exit__(None, None, None)


class _ExcludeDispatchKeyGuard(_KeyBlock):
    """Leave keys out of every call (source: ``torch._C._ExcludeDispatchKeyGuard``)."""

    def __init__(self, keys: Any) -> None:
        super().__init__(dc.exclude_keys(*_list_keys(keys)))


class _IncludeDispatchKeyGuard(_KeyBlock):
    """Include keys in every call (source: ``torch._C._IncludeDispatchKeyGuard``)."""

    def __init__(self, keys: Any) -> None:
        super().__init__(dc.include_keys(*_list_keys(keys)))


class _ForceDispatchKeyGuard(_KeyBlock):
    """Include these keys in every call, leave those out, and no others (source: ``torch._C._ForceDispatchKeyGuard``).

    Without arguments nothing changes until the block ends, and all is as before then.
    """

    def __init__(self, include: DispatchKeySet | None = None, exclude: DispatchKeySet | None = None) -> None:
        super().__init__(_force(include, exclude))


@contextmanager
def _force(include: DispatchKeySet | None, exclude: DispatchKeySet | None) -> Iterator[None]:
    masks = current_masks()
    if include is not None and exclude is not None:
        masks = (include.mask, exclude.mask) if include or exclude else None
    token = set_masks[masks]
    try:
        yield
    finally:
        reset_masks(token)


class _AutoDispatchBelowAutograd(_KeyBlock):
    """Call operators below autograd (source: ``torch._C._AutoDispatchBelowAutograd``).

    >>> import torchlike
    >>> x = torchlike.ones(1, requires_grad=True)
    >>> with _AutoDispatchBelowAutograd():
    ...     (2 * x).requires_grad
    False
    """

    def __init__(self) -> None:
        super().__init__(dc.exclude_keys(*[key for key in DispatchKey if key.kind == "autograd"]))


def _list_keys(keys: Any) -> list[Any]:
    if isinstance(keys, DispatchKey):
        return [keys]
    return [*(DispatchKeySet.from_mask(keys) if isinstance(keys, int) else keys).iter_keys()]


def _dispatch_tls_local_include_set() -> DispatchKeySet:
    """Return the keys that are in every call here."""
    return DispatchKeySet.from_mask((current_masks() or (0, 0))[0])


def _dispatch_tls_local_exclude_set() -> DispatchKeySet:
    """Return the keys that are left out of every call here."""
    return DispatchKeySet.from_mask((current_masks() or (0, 0))[1])


def parse_schema(schema: str) -> FunctionSchema:
    """Read a schema; raises ``RuntimeError`` for malformed text (source: ``torch._C.parse_schema``).

    >>> parse_schema("f(Tensor x, int n=1) -> Tensor").arguments[1].default_value
    1
    """
    try:
        return FunctionSchema(_CoreSchema.parse(schema))
    except dc.SchemaError as error:
        fault = LibraryError(str(error))
    raise fault


def _find(name: str) -> Any:
    try:
        return dc.registry.get(name).op
    except dc.OperatorNotFoundError as error:
        fault = LibraryError(f"operator {name} does not exist: {error}")
    raise fault


def _dispatch_find_schema_or_throw(name: str, overload: str) -> Any:
    """Return an operator by its name and its overload's; raises ``RuntimeError`` where there is none."""
    return _find(f"{name}.{overload}" if overload else name)


def _dispatch_call_boxed(handle: Any, *args: Any, **kwargs: Any) -> Any:
    """Call an operator that `_dispatch_find_schema_or_throw` has found."""
    return handle(*args, **kwargs)


def _dispatch_isTensorSubclassLike(tensor: Tensor) -> bool:  # noqa: N802  # torch's name
    """Return whether a tensor's operators are handled by its class or its function transform."""
    return bool(tensor._dispatch_mask & (FRONT | PYTHON))


def _dispatch_key_for_device(device_type: str) -> str:
    return key_of_device(device_type)


def _parse_dispatch_key(name: str) -> Any:
    return DispatchKey[name] if name in DispatchKey else None  # noqa: SIM401  # the class has no get


def _dispatch_keys(tensor: Tensor) -> DispatchKeySet:
    return DispatchKeySet.from_tensors([tensor])


def _dispatch_has_kernel(name: str) -> bool:
    return bool(dc.registry.get(name).kernels)


def _dispatch_has_kernel_for_dispatch_key(name: str, key: Any) -> bool:
    held = _find(name).registrations(DispatchKey[key] if isinstance(key, str) else key)
    return bool(held) and not held[0].is_fallthrough


def _dispatch_has_computed_kernel_for_dispatch_key(name: str, key: Any) -> bool:
    try:
        dc.get_kernel(_find(name), key)
    except dc.NoKernelError:
        return False
    return True


def _dispatch_get_computed_kernel_for_dispatch_key(name: str, key: Any) -> Any:
    from ..kernel_functions import get_kernel

    return get_kernel(name, key)


def _any_output_is_alias_to_input_or_output(args: Any, kwargs: Any, outputs: Any) -> bool:
    """Return whether a result shares memory with an argument, or with another result."""
    places = {dc.storage_of(each) for each in iterate_tensors((*args, *(kwargs or {}).values())) if each.numel()}
    for each in iterate_tensors(outputs if isinstance(outputs, list | tuple) else (outputs,)):
        if each.numel():
            place = dc.storage_of(each)
            if place in places:
                return True
            places.add(place)
    return False


def _jit_resolve_packet(name: str, *args: Any, **kwargs: Any) -> str:
    """Return the name of the overload that a call of a packet runs; raises ``RuntimeError`` where none fits."""
    found = dc.registry.find(name)
    try:
        overload: str = (found.resolve(args, kwargs) if isinstance(found, dc.OpOverloadPacket) else found).overload_name
    except dc.ArgumentError as error:
        fault = LibraryError(f"{name}() failed to match any schema: {error}")
    else:
        return overload
    raise fault
