"""Every kernel of the backend by operator name with overload: rows of the table, and what takes more than a row.

Registering them must cost next to nothing where no NPU is used. So a kernel is a function that gets its code, or finds the
function that it stands for, when it is first called.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any, Final

from dispatch_core.devices import Device

from .aclnn import table
from .aclnn.table import OPERATORS
from .ops import view

__all__ = ["BY_HAND", "KERNELS", "PRIMS"]

Kernel = Callable[..., Any]


def _first(*args: Any, **kwargs: Any) -> Any:
    return __become()(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821  # a global of the function it becomes


def _forward(*args: Any, **kwargs: Any) -> Any:
    return __kernel(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821  # as above


def _late(name: str, become: Callable[[Any, dict[str, Any]], Kernel]) -> Kernel:
    """Make a function that ``become(function, globals)`` turns into another at its first call, and gives to be called."""
    names: dict[str, Any] = {}
    late: Any = FunctionType(_first.__code__, names, name)
    names["__become"] = lambda: become(late, names)
    late.__module__, late.__qualname__ = __name__, name
    return late


def _row(name: str) -> Kernel:
    """Make the kernel of a row, whose code is generated."""

    def become(late: Any, names: dict[str, Any]) -> Kernel:
        from .aclnn.row_kernels import operator_row  # with all that calls need

        row = operator_row(name)
        names.update(row.names)
        exec(compile(row.text, f"<npu kernel of {name}>", "exec"), names)  # noqa: S102  # of our own table
        made = names["__kernel"]
        # The code comes last: until it is there, the defaults are those of code that does not look at them.
        late.__defaults__, late.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
        late.__code__ = made.__code__
        kernel: Kernel = late
        return kernel

    late: Any = _late(name, become)
    late.stands_for = lambda: _place_of_row(name)
    return late


def _place_of_row(name: str) -> tuple[str, str]:
    """Give what people are shown of a row's kernel: the row, and its place."""
    lines = linecache.getlines(table.__file__)
    line = next((number for number, text in enumerate(lines, 1) if text.split(None, 1)[:1] == [name]), 1)
    return f"{table.__name__}.OPERATORS[{name!r}]: {OPERATORS[name][0]}", f"{table.__file__}:{line}"


def _found(name: str, module: str) -> Kernel:
    """Make the kernel that a module's table has under a name."""

    def become(late: Any, names: dict[str, Any]) -> Kernel:
        kernel: Kernel = import_module(module, __package__).KERNELS[name]
        names["__kernel"] = kernel
        late.__code__ = _forward.__code__
        return kernel

    late: Any = _late(name, become)
    late.stands_for = lambda: import_module(module, __package__).KERNELS[name]
    return late


#: Module → the overloads that it has kernels for.
BY_HAND: Final = {
    ".creation": """
        empty.memory_format empty_strided empty_like new_empty new_empty_strided zeros zeros_like new_zeros
        ones ones_like new_ones full full_like new_full scalar_tensor arange arange.start arange.start_step
        linspace eye eye.m
    """,
    ".ops.copy": """
        clone _to_copy _local_scalar_dense
    """,
    ".ops.special": """
        clamp clamp.Tensor
    """,
    ".ops.reduction": """
        argmax argmin var.correction std.correction var_mean.correction aminmax any.dims all.dims
    """,
    ".ops.losses": """
        nll_loss_forward nll_loss_backward
    """,
    ".ops.indexing": """
        index.Tensor index_put_ masked_fill.Scalar masked_fill.Tensor masked_fill_.Scalar masked_fill_.Tensor
        embedding_dense_backward cat
    """,
    ".fallback": """
        nonzero masked_scatter_
    """,
}

KERNELS: Final[dict[str, Kernel]] = (
    {name: _row(name) for name in OPERATORS}
    | {name: _found(name, module) for module, names in BY_HAND.items() for name in names.split()}
    | view.KERNELS
)
"""Every kernel of the ``aten`` namespace."""


def _device_put(data: Any, *, device: Device) -> Any:
    from .ops.copy import device_put  # with all that calls need

    return device_put(data, device=device)


def _device_get(self: Any) -> Any:
    from .ops.copy import device_get  # with all that calls need

    return device_get(self)


PRIMS: Final[dict[str, Kernel]] = {"device_get": _device_get, "device_put": _device_put}
"""The kernels of the ``prims`` namespace."""
