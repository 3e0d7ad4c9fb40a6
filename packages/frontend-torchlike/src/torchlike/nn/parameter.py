"""Parameters: leaves that modules register."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dispatch_core.keys import LAYOUTS

from ..creation.factories import FACTORIES
from ..history.views import share_memory
from ..overriding.handling import PLAIN
from ..tensors.arguments import check_tensor
from ..tensors.deepcopy import copy_attributes
from ..tensors.overriding_classes import DISABLED, DISABLED_DISPATCH
from ..tensors.tensor import Tensor, TensorConstructor, wrap
from ..values.layouts import jagged, layout_of


class ParameterMeta(TensorConstructor):
    """Takes tensors of classes of their own that `Parameter` and `Buffer` have returned for theirs."""

    def __instancecheck__(cls, instance: Any) -> bool:  # noqa: N805  # of a metaclass
        if type.__instancecheck__(cls, instance):
            return True
        mark = "_is_param" if cls is Parameter else "_is_buffer" if cls is Buffer else ""
        return bool(mark) and isinstance(instance, Tensor) and bool(instance.__dict__.get(mark))


class Parameter(Tensor, metaclass=ParameterMeta):
    """A tensor that a module finds among its attributes and an optimizer trains (source: ``torch.nn.Parameter``).

    Shares memory with ``data``. Of a tensor of a class that overrides functions, and of a nested one, it is
    one of that class.

    >>> import torchlike
    >>> Parameter(torchlike.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __torch_function__ = DISABLED
    _text_of_subclasses: ClassVar = "Parameter({})"

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        """Share the data of a tensor."""
        if data is None:
            data = FACTORIES["empty"](0)
        check_tensor(data, "Parameter", "data")
        if cls is Parameter and _keeps_class(data, Parameter):
            return _make_of_class(data, requires_grad)
        self = super().__new__(cls)
        if requires_grad and data.is_quantized:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients\n"
                "Hint: Parameter(data, requires_grad=False)"
            )
        alias = _share(data)
        self._dispatch_data = alias._dispatch_data
        self._dispatch_mask = alias._dispatch_mask
        share_memory(self, alias)
        if requires_grad:
            self._require_grad()
        return self

    if TYPE_CHECKING:

        def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None: ...
    else:

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            """Do nothing more; ``__new__`` has taken the arguments, which a subclass has others of."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        known: Parameter | None = memo.get(id(self))
        if known is None:
            known = memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return known

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


def _share(data: Tensor) -> Tensor:
    """Return a tensor without history that shares memory with another one; of a layout it has the same record."""
    if not data._dispatch_mask & LAYOUTS:
        return data.detach()
    alias = wrap(data._dispatch_data)
    share_memory(alias, data)
    return alias


def _keeps_class(data: Tensor, wanted: type) -> bool:
    """Return whether a parameter, or a buffer, has the class of its data: one that overrides functions, or is nested."""
    kind: Any = type(data)
    if kind is Tensor or type.__instancecheck__(wanted, data):
        return False
    overrides = kind.__torch_function__ is not DISABLED or kind.__torch_dispatch__ is not DISABLED_DISPATCH
    return overrides or layout_of(data) is jagged


def _make_of_class(data: Any, requires_grad: bool) -> Any:
    """Return a parameter that has the class of its data, which overrides functions."""
    made = data.detach().requires_grad_(requires_grad)
    if type(made) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an "
            f"instance of the same type, but return type {type(made).__name__} was found instead. To use the type as a "
            "Parameter, please correct the detach() semantics defined by its __torch_dispatch__() implementation."
        )
    made._is_param = True
    return made


class Buffer(Tensor, metaclass=ParameterMeta):
    """A tensor that a module finds among its attributes, but does not train (source: ``torch.nn.Buffer``).

    Shares memory with ``data``, and has its class where that overrides functions, or is that of nested tensors; belongs
    to the saved state if it is ``persistent``.
    """

    __slots__ = ("persistent",)
    __torch_function__ = DISABLED
    _text_of_subclasses: ClassVar = "{}"
    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Self:
        """Share the data of a tensor."""
        if data is not None:
            check_tensor(data, "Buffer", "data")
            if cls is Buffer and _keeps_class(data, Buffer):
                made: Any = data.detach().requires_grad_(data.requires_grad)
                made.persistent, made._is_buffer = persistent, True
                return made
        self = super().__new__(cls)
        alias = FACTORIES["empty"](0) if data is None else _share(data)
        self._dispatch_data, self._dispatch_mask = alias._dispatch_data, alias._dispatch_mask
        self.persistent = persistent
        share_memory(self, alias)
        if data is not None and data.requires_grad:
            self._require_grad()
        return self

    def __init__(self, data: Tensor | None = None, *, persistent: bool = True) -> None:
        """Do nothing more; ``__new__`` has taken the data."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Buffer:
        known: Buffer | None = memo.get(id(self))
        if known is None:
            known = memo[id(self)] = type(self)(self.detach().clone(), persistent=self.persistent)
            copy_attributes(self, known, memo)
        return known

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild_buffer, (self.detach(), self.persistent), self.__dict__ or None


def _rebuild_buffer(data: Tensor, persistent: bool) -> Buffer:
    return Buffer(data, persistent=persistent)


def __getattr__(name: str) -> Any:
    """Return the tensors of lazy modules, which most programs do not use."""
    if name not in ("UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__package__}.uninitialized"), name)


PLAIN.update({Parameter, Buffer})
