"""Other dtypes and devices for all parameters and buffers of a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, overload

from dispatch_aten.dtypes import ScalarType
from dispatch_core.tracebacks import api_boundary

from ..functions.operator_functions import FUNCTIONS
from ..history.grad_mode import no_grad
from ..names.lazy_names import import_lazily
from ..tensors.tensor import Tensor
from ..values.argument_types import DeviceLike, DTypeLike
from .tree import Tree

if TYPE_CHECKING:
    from ..values.dtypes import memory_format
else:
    memory_format = import_lazily("torchlike.values.dtypes", "memory_format")


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
                        parameter._state.grad = fn(parameter.grad)
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
        Raises ``TypeError`` for a dtype that is neither floating-point nor complex.
        """
        for given in (*args, *kwargs.values()):
            dtype = given.dtype if isinstance(given, Tensor) else given
            if isinstance(dtype, ScalarType) and not dtype.is_differentiable:
                raise TypeError(
                    f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
                )

        memory_format = kwargs.pop("memory_format", None)

        def convert(tensor: Tensor) -> Tensor:
            moved: Tensor = tensor.to(*args, **kwargs) if args or kwargs else tensor
            if memory_format is not None and tensor.dim() in (4, 5):
                moved = moved.contiguous(memory_format=memory_format)
            if moved.dtype != tensor.dtype and not tensor.dtype.is_differentiable:
                moved = tensor.to(moved.device)
            return moved

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move all parameters and buffers without their values."""
        return self._apply(lambda tensor: FUNCTIONS["empty_like"](tensor, device=device), recurse)

    def cpu(self) -> Self:
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: DeviceLike = None) -> Self:
        """Move all parameters and buffers to a cuda device; raises where there is none."""
        where = "cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device
        return self._apply(lambda tensor: tensor.to(where))

    def xpu(self, device: DeviceLike = None) -> Self:
        """Move all parameters and buffers to an xpu device; raises where there is none."""
        return self._apply(lambda tensor: tensor.to("xpu" if device is None else device))

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
