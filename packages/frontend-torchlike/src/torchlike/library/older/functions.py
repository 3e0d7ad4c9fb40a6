"""The functions of the older API, which name the operator (source: ``torch._custom_ops``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..fakes import get_ctx
from ..functions import register_fake
from ..inference import infer_schema
from .registrations import check_name, define_with_schema, find_custom_op
from .rules import parse_qualname, validate_namespace

__all__ = ["custom_op", "get_ctx", "impl", "impl_abstract", "impl_backward", "impl_save_for_backward"]


def custom_op(qualname: str, func_or_schema: Any = None) -> Any:
    """Define an operator by a schema without a name, or by the hints of a function of the operator's name.

    A decorator without the latter. Raises ``ValueError`` for schemas that write or return views, ``RuntimeError`` for a name
    that is defined (source: ``torch._custom_ops.custom_op``).

    >>> import torchlike
    >>> @custom_op("doctest_older::double")
    ... def double(x: torchlike.Tensor) -> torchlike.Tensor: ...
    >>> @impl("doctest_older::double", device_types="cpu")
    ... def double_on_cpu(x):
    ...     return 2 * x
    >>> torchlike.ops.doctest_older.double(torchlike.ones(1))
    tensor([2.])
    >>> _destroy("doctest_older::double")
    """
    namespace, name = parse_qualname(qualname)
    validate_namespace(namespace)

    def define(func: Callable[..., Any]) -> Callable[..., Any]:
        check_name(qualname, name, func)
        define_with_schema(qualname, infer_schema(func, mutates_args=()))
        return func

    if func_or_schema is None:
        return define
    if isinstance(func_or_schema, str):
        define_with_schema(qualname, func_or_schema)
        return None
    return define(func_or_schema)


def _apply(qualname: str, func: Callable[..., Any] | None, register: Callable[[Any], Callable[[Any], Any]]) -> Any:
    """Register a function for an operator, or return the decorator that does."""

    def decorate(given: Callable[..., Any]) -> Callable[..., Any]:
        register(find_custom_op(qualname, also_check_torch_library=True))(given)
        return given

    return decorate if func is None else decorate(func)


def impl(
    qualname: str, *, device_types: str | Iterable[str] = ("cpu", "cuda"), func: Callable[..., Any] | None = None
) -> Any:
    """Register an operator's kernel for devices; see `CustomOp.impl`. A decorator without ``func``."""
    return _apply(qualname, func, lambda found: found.impl(device_types))


def impl_abstract(qualname: str, *, func: Callable[..., Any] | None = None) -> Any:
    """Register an operator's effect on shapes and dtypes; see `torchlike.library.register_fake`."""
    return register_fake(qualname, func)


def impl_save_for_backward(qualname: str, *, func: Callable[..., Any] | None = None) -> Any:
    """Register what an operator keeps for backward; see `CustomOp.impl_save_for_backward`. A decorator without ``func``."""
    return _apply(qualname, func, lambda found: found.impl_save_for_backward())


def impl_backward(
    qualname: str, output_differentiability: list[bool] | None = None, *, func: Callable[..., Any] | None = None
) -> Any:
    """Register an operator's gradients by name; see `CustomOp.impl_backward`. A decorator without ``func``."""
    return _apply(qualname, func, lambda found: found.impl_backward(output_differentiability))


def _destroy(qualname: str) -> None:
    """Take an operator of the older API back."""
    find_custom_op(qualname)._destroy()
