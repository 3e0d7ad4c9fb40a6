"""Parameters and buffers of lazy modules, whose shapes the first call decides (source: ``torch.nn.parameter``)."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self, TypeAlias

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ..creation.factories import FACTORIES
from ..history.differentiable import Differentiable
from ..history.grad_mode import no_grad
from ..tensors.overriding_classes import DISABLED
from ..tensors.tensor import Tensor, wrap
from ..values.argument_types import DeviceLike, DTypeLike
from .parameter import Parameter

#: In the class, ``type`` is the method of tensors.
_TensorClass: TypeAlias = type[Tensor]

_data: Any = vars(Differentiable)["_dispatch_data"]


class UninitializedTensorMixin:
    """A tensor without a shape: it has a dtype and a device, which may be changed, and every operator refuses it."""

    __slots__ = ()
    #: The class of the tensor once it has a shape.
    cls_to_become: ClassVar[_TensorClass]

    def _refuse(self) -> NoReturn:
        raise ValueError(
            "Attempted to use an uninitialized parameter. This error happens when you are using a `LazyModule` or "
            f"explicitly manipulating `torchlike.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling torchlike functions"
        )

    def _set_data(self, value: Any) -> None:
        _data.__set__(self, value)

    #: Whatever computes with a tensor reads this first.
    _dispatch_data = property(_refuse, _set_data)

    @property
    def data(self) -> Tensor:
        """A tensor of no elements with the dtype and the device."""
        return wrap(_data.__get__(self))

    @data.setter
    def data(self, value: Tensor) -> None:
        Tensor.data.__set__(self, value)  # type: ignore[attr-defined]  # a property

    @property
    def dtype(self) -> ScalarType:
        """The type of the elements to come."""
        return dc.dtype(self.data)

    @property
    def device(self) -> dc.Device:
        """The device of the elements to come."""
        return dc.device(self.data)

    @property
    def shape(self) -> NoReturn:
        """Raise ``RuntimeError``: the shape is unknown."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` to "
            "initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> NoReturn:
        """Raise ``RuntimeError``: there is no memory."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self.dtype.is_complex

    def detach(self) -> Self:
        """Return the tensor itself, which has no history."""
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Choose whether the tensor to come requires grad."""
        tensor: Any = self
        kind, tensor.__class__ = type(self), self.cls_to_become
        tensor._require_grad(requires_grad)
        tensor.__class__ = kind
        return self

    def materialize(self, shape: Any, device: DeviceLike = None, dtype: DTypeLike = None) -> None:
        """Make it a tensor of the usual class with a shape, and elements that are not set."""
        with no_grad():
            fresh = FACTORIES["empty"](shape, device=device or self.device, dtype=dtype or self.dtype)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]
        self.data = fresh

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad,)  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        known = memo.get(id(self))
        if known is None:
            made: Any = type(self)
            known = memo[id(self)] = made(self.requires_grad, self.device, self.dtype)  # type: ignore[attr-defined]
        return known


def _make_conversion(name: str) -> Any:
    def convert(self: UninitializedTensorMixin, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.data, name)(*args, **kwargs)

    convert.__name__ = name
    return convert


for _name in "bfloat16 char cpu cuda double float half int long short to type".split():
    setattr(UninitializedTensorMixin, _name, _make_conversion(_name))


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet (source: ``torch.nn.UninitializedParameter``).

    >>> weight = UninitializedParameter()
    >>> weight
    <UninitializedParameter>
    >>> weight.materialize((2, 3))
    >>> weight.shape
    torchlike.Size([2, 3])
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: DeviceLike = None, dtype: DTypeLike = None) -> Self:
        """Remember the dtype and the device."""
        made: Any = Parameter(FACTORIES["empty"](0, device=device, dtype=dtype), requires_grad)
        made.__class__ = cls
        return made

    def __init__(self, requires_grad: bool = True, device: DeviceLike = None, dtype: DTypeLike = None) -> None:
        """Do nothing more; ``__new__`` has made the tensor."""


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet (source: ``torch.nn.UninitializedBuffer``)."""

    __torch_function__ = DISABLED

    __slots__ = ()
    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        persistent: bool = True,
    ) -> Self:
        """Remember the dtype and the device."""
        made: Any = FACTORIES["empty"](0, device=device, dtype=dtype)
        if requires_grad:
            made._require_grad()
        made.__class__ = cls
        return made

    def __init__(
        self,
        requires_grad: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        persistent: bool = True,
    ) -> None:
        """Do nothing more; ``__new__`` has made the tensor."""


def is_lazy(param: Any) -> bool:
    """Return whether a tensor has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)
