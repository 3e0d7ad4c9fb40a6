"""Other dtypes and devices for all parameters and buffers of a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Self, cast, overload

from dispatch_aten.dtypes import ScalarType, as_dtype
from dispatch_core import Device
from dispatch_core.keys import LAYOUTS
from dispatch_core.tracebacks import api_boundary

from ..functions.operator_functions import FUNCTIONS
from ..history.grad_mode import no_grad
from ..overriding.handling import make_override
from ..overriding.mode_stack import ENTERED
from ..tensors.tensor import Tensor
from ..values.argument_types import DeviceLike, DTypeLike
from ..values.devices import as_device
from ..values.dtypes import memory_format
from ..values.layouts import answer
from .tree import Tree


class Convertible(Tree):
    """The part of `Module` that converts its parameters and buffers."""

    @api_boundary
    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace every parameter's data, gradient, and buffer by ``fn(tensor)``."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                with no_grad():
                    parameter.data = fn(parameter)
                    if parameter.grad is not None:
                        moved = fn(parameter.grad)
                        has_layout = parameter._dispatch_mask & LAYOUTS
                        parameter._state.grad = answer(parameter, "enter_gradient")(moved) if has_layout else moved
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    @overload
    def to(
        self,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        non_blocking: bool = False,
        *,
        memory_format: memory_format | None = None,
    ) -> Self: ...
    @overload
    def to(
        self, dtype: DTypeLike, non_blocking: bool = False, *, memory_format: memory_format | None = None
    ) -> Self: ...
    @overload
    def to(self, tensor: Tensor, non_blocking: bool = False, *, memory_format: memory_format | None = None) -> Self: ...
    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move all parameters and buffers (source: ``torch.nn.Module.to``).

        A dtype concerns floating-point ones only, ``memory_format`` those with four or five dimensions.
        Raises ``TypeError`` for a dtype that is neither floating-point nor complex and for arguments that do not fit,
        ``RuntimeError`` for ``copy``.
        """
        device, dtype, non_blocking, order = parse_to(*args, **kwargs)
        if dtype is not None and not dtype.is_differentiable:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(tensor: Tensor) -> Tensor:
            wanted = dtype if tensor.dtype.is_differentiable else None
            form = {} if order is None or tensor.dim() not in (4, 5) else {"memory_format": order}
            moved: Tensor = tensor.to(device, wanted, non_blocking, **form)
            return moved

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move all parameters and buffers without their values."""

        def make_empty(tensor: Any) -> Any:
            in_parts = getattr(tensor._dispatch_data, "make_empty", None)
            return FUNCTIONS["empty_like"](tensor, device=device) if in_parts is None else in_parts(device)

        return self._apply(make_empty, recurse)

    def cpu(self) -> Self:
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: DeviceLike = None) -> Self:
        """Move all parameters and buffers to a cuda device; raises where there is none."""
        return self._move_to_device("cuda", device)

    def xpu(self, device: DeviceLike = None) -> Self:
        """Move all parameters and buffers to an xpu device; raises where there is none."""
        return self._move_to_device("xpu", device)

    def _move_to_device(self, name: str, device: DeviceLike = None) -> Self:
        """Move all parameters and buffers to a device of a type, by default the thread's."""
        where = name if device is None else f"{name}:{device}" if isinstance(device, int) else device
        return self._apply(lambda tensor: tensor.to(where))

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        return self._cast(ScalarType.Float)

    def double(self) -> Self:
        return self._cast(ScalarType.Double)

    def half(self) -> Self:
        return self._cast(ScalarType.Half)

    def bfloat16(self) -> Self:
        return self._cast(ScalarType.BFloat16)

    def _cast(self, dtype: ScalarType) -> Self:
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)


#: The arguments of `Module.to`, by the first of them; torch does not copy modules.
_FORMS: Final = {
    "device": ("device", "dtype", "non_blocking", "copy"),
    "dtype": ("dtype", "non_blocking", "copy"),
    "tensor": ("tensor", "non_blocking", "copy"),
}


_ask_parse_to: Final = make_override(lambda: parse_to)


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Return the device, the dtype, ``non_blocking`` and the memory format that a call of `Module.to` asks for.

    Libraries whose classes have a ``to`` of their own read its arguments by it (source: ``torch._C._nn._parse_to``).
    Raises ``TypeError`` for arguments that do not fit, ``RuntimeError`` for ``copy`` and for a device that is not there.

    >>> import torchlike
    >>> parse_to("cpu", torchlike.float64)
    (device(type='cpu'), torchlike.float64, False, None)
    """
    if ENTERED and (found := _ask_parse_to(args, kwargs)) is not NotImplemented:
        return cast("tuple[Any, Any, bool, Any]", found)
    args = tuple(map(_spell_dtype, args))
    if "dtype" in kwargs:
        kwargs["dtype"] = _spell_dtype(kwargs["dtype"])
    first = args[0] if args else None
    is_tensor = isinstance(first, Tensor) or (not args and "tensor" in kwargs)
    form = _FORMS["tensor" if is_tensor else "dtype" if isinstance(first, ScalarType) else "device"]
    given = dict(zip(form, args, strict=False))
    if len(args) > len(form) or given.keys() & kwargs or kwargs.keys() - {*form, "memory_format"}:
        raise _refuse_arguments(args, kwargs)
    given.update(kwargs)
    tensor, device, dtype = given.get("tensor"), given.get("device"), given.get("dtype")
    if is_tensor and isinstance(tensor, Tensor):
        device, dtype = tensor.device, tensor.dtype
    non_blocking, order = given.get("non_blocking", False), given.get("memory_format")
    if not (
        isinstance(tensor, Tensor) is is_tensor
        and (device is None or isinstance(device, (str, int, Device)))
        and (dtype is None or isinstance(dtype, ScalarType))
        and (order is None or isinstance(order, memory_format))
        and isinstance(non_blocking, bool)
        and isinstance(given.get("copy", False), bool)
    ):
        raise _refuse_arguments(args, kwargs)
    if "copy" in given:
        raise RuntimeError(".to() does not accept copy argument")
    return as_device(device), dtype, non_blocking, order


def _spell_dtype(value: Any) -> Any:
    """Return the dtype that one of Python's types of numbers represents, and another value as it is."""
    return as_dtype(value) if type(value) is type and value in (bool, int, float, complex) else value


def _refuse_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
    """Return the error for arguments that `Module.to` does not take."""
    given = [type(each).__name__ for each in args] + [f"{name}={type(each).__name__}" for name, each in kwargs.items()]
    forms = " or ".join(f"({', '.join(form[:-1])})" for form in _FORMS.values())
    return TypeError(
        f"to() received an invalid combination of arguments - got ({', '.join(given)}), but expected {forms}, and "
        "memory_format"
    )
