"""The tensor class: its hooks for the dispatcher, shape, dtype and device, and Python's protocols.

`methods` completes it with the operators and with the methods that need them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Final, overload

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType, get_default_dtype
from dispatch_aten.placing import is_placed_apart, place_like
from dispatch_aten.shapes import is_contiguous
from dispatch_core import frontends
from dispatch_core.frontends import CAPTURING, PLACES, Frontend, find_layout, register_frontend
from dispatch_core.keys import AUTOGRAD, LAYOUTS, backend_arrays
from dispatch_core.tracebacks import trim_traceback

from ..history.captures import current_part, see
from ..history.device_keys import autograd_bit, prepare
from ..history.differentiable import Differentiable
from ..history.grad_mode import is_grad_enabled, is_inference_mode_enabled
from ..history.graph_settings import current_autocast, current_nesting, refused_by_captures
from ..history.metadata import SCALAR_TYPES, SIZES, STRIDES, is_plain
from ..history.node import Storage, tick
from ..history.rebinding import become, check_expanded, rebind, remake
from ..history.transforms import refuse_in_transform
from ..history.view_hooks import make_views
from ..history.views import join, share_memory
from ..names.lazy_names import LeftOut
from ..values.size import Size, check_dim
from .overriding_classes import ENTERED, PYTHON, ask, complete_bases

if TYPE_CHECKING:
    from ..tensor_methods import TensorMethods  # a stub alone
else:
    TensorMethods = object

_ndarray: Final[Any] = np.ndarray
#: The keys of a device's tensors, of all layouts.
_META, _CPU = backend_arrays("Meta"), backend_arrays("CPU")


class TensorConstructor(type):
    """Lets users call the class for a tensor with data, and the dispatcher make bare objects at no more than it costs."""

    if not TYPE_CHECKING:  # a call of a subclass takes the subclass's arguments

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            kind: Any = cls
            if kind.__new__ is object.__new__ and kind.__init__ is object.__init__:
                return kind._construct(kind, *args, **kwargs)
            return type.__call__(cls, *args, **kwargs)

        def __new__(meta, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
            if any(type(each) is not type for each in bases):  # not for `Tensor` itself
                bases = complete_bases(bases, namespace)
            return super().__new__(meta, name, bases, namespace, **options)

    def __dir__(cls) -> list[str]:
        found = {name: value for kind in reversed(cls.__mro__) for name, value in vars(kind).items()}
        return [name for name, value in found.items() if not isinstance(value, LeftOut) or value.is_there()]


class Tensor(Differentiable, TensorMethods, metaclass=TensorConstructor):
    """An array on a device, with autograd (source: ``torch.Tensor``).

    Made by ``torchlike.tensor`` and the other factories, and by operators.

    >>> import torchlike
    >>> t = torchlike.tensor([[1., 2.], [3., 4.]])
    >>> (t @ t).sum(dim=0)
    tensor([22., 32.])
    """

    __module__ = "torchlike"  # see Note [Public paths]
    __slots__ = ()
    __array_priority__ = 1000

    # Python's operators and torch's methods are added in `surface.tensor_class`, and this one, which needs them.
    if TYPE_CHECKING:
        _construct: ClassVar[Callable[..., Any]]

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *dir(type(self))})

    def _count_write(self) -> None:
        """Take note that an operator has written to the tensor."""
        state = getattr(self, "_autograd", None)
        if state is None:
            state = self._make_state()
        if type(state) is tuple:
            state[0]._count_write()
            return
        storage = state.storage
        if storage is None:
            storage = state.shared_storage()
        storage.version += 1
        storage.written = tick()

    # History.

    @property
    def _version(self) -> int:
        return int(self._state.version)

    @property
    def _base(self) -> Tensor | None:
        if not self._dispatch_mask & AUTOGRAD:
            return None
        state = self._state
        return state.base if state.is_view else None

    @property
    def _pending(self) -> bool:
        """Whether a pipeline still has to compute the elements, or a write to them."""
        return frontends.is_pending(self)

    def _is_view(self) -> bool:
        return self._base is not None

    @property
    def data(self) -> Tensor:
        """The same memory as a tensor without history and with versions of its own."""
        if (nesting := current_nesting()) is not None:
            nesting.cache.distrust(self)
        if self._dispatch_mask & PYTHON:
            made = self.detach()  # as its class makes it
            if made is not self:
                made._state.storage = None
            return made
        if current_part() is not None:
            made = self.detach()
            del made._autograd
        else:
            made = wrap(self._dispatch_data)
        share_memory(made, self)
        return made

    @data.setter
    def data(self, value: Tensor) -> None:
        refuse_in_transform("data")
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if (nesting := current_nesting()) is not None:
            nesting.cache.distrust(self)
        see(self)
        see(value)
        if (self._dispatch_mask ^ value._dispatch_mask) & LAYOUTS and find_layout(self) is not find_layout(value):
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type: "
                f"layout {self.layout} and {value.layout}"
            )
        if self.requires_grad and not value.dtype.is_differentiable:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if is_placed_apart(self, value):  # a write does not change where a tensor lies
            value = place_like(value.detach(), self)
        mask = value._dispatch_mask & ~AUTOGRAD
        if self._dispatch_mask & AUTOGRAD:
            mask |= autograd_bit(mask)
        storage = self._state.storage
        if storage is not None and storage.aliases is not None and dc.is_mutable(value):
            storage.aliases.remove(self)
            storage.aliases = None
        if not dc.is_mutable(value):
            if self._state.is_view and self._state.refusal is None:
                self._state.keep_history()  # its chain is now the other tensor's, and leads from no base of its own
            own = Storage()
            own.version = self._version
            join(self, value, own)
        self._dispatch_mask = mask
        self._dispatch_data = value._dispatch_data

    # Shape, dtype, device.

    @property
    def shape(self) -> Size:
        """The sizes of all dimensions."""
        data = self._dispatch_data
        return SIZES[data.shape] if type(data) is _ndarray or is_plain[type(data)] else Size(dc.shape(self))

    @property
    def dtype(self) -> ScalarType:
        """The type of the elements."""
        data = self._dispatch_data
        return SCALAR_TYPES[data.dtype] if type(data) is _ndarray or is_plain[type(data)] else dc.dtype(self)

    @property
    def device(self) -> dc.Device:
        """Where the elements are."""
        return PLACES.get(type(self._dispatch_data)) or dc.device(self)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        data = self._dispatch_data
        if type(data) is _ndarray:
            return data.ndim
        return len(data.shape if is_plain[type(data)] else dc.shape(self))

    def dim(self) -> int:
        """Return the number of dimensions (source: ``torch.Tensor.dim``)."""
        data = self._dispatch_data
        if type(data) is _ndarray:
            return data.ndim
        return len(data.shape if is_plain[type(data)] else dc.shape(self))

    ndimension = dim

    @overload
    def size(self, dim: None = None) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size along a dimension (source: ``torch.Tensor.size``)."""
        data = self._dispatch_data
        if dim is None:
            return SIZES[data.shape] if is_plain[type(data)] else self.shape
        shape = data.shape if is_plain[type(data)] else dc.shape(self)
        return shape[dim if type(dim) is int and -len(shape) <= dim < len(shape) else check_dim(dim, len(shape))]

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> Any:
        """Return the steps in memory, or the one along a dimension, in elements (source: ``torch.Tensor.stride``)."""
        data = self._dispatch_data
        if type(data) is _ndarray and (data.base is not None or data.size):  # see `strides_of` of the cpu backend
            strides = STRIDES[data.strides, data.itemsize]
        else:
            strides = dc.strides(self)
        if dim is None:
            return strides
        count = len(strides)
        return strides[dim if type(dim) is int and -count <= dim < count else check_dim(dim, count)]

    def storage_offset(self) -> int:
        """Return the place of the first element in its memory, in elements (source: ``torch.Tensor.storage_offset``)."""
        data = self._dispatch_data
        if type(data) is _ndarray and not isinstance(data.base, _ndarray) and not CAPTURING:
            return 0
        return frontends.read_offset(self)

    def numel(self) -> int:
        """Return the number of elements (source: ``torch.Tensor.numel``)."""
        data = self._dispatch_data
        if type(data) is _ndarray:
            return data.size
        return math.prod(data.shape if is_plain[type(data)] else dc.shape(self))

    nelement = numel

    def is_contiguous(self, *, memory_format: int = 0) -> bool:
        """Return whether the elements lie in memory without gaps, in row-major order or that of ``memory_format``."""
        data = self._dispatch_data
        if not memory_format and type(data) is _ndarray:
            is_row_major: bool = data.flags.c_contiguous
            return is_row_major
        shape, strides = dc.shape(self), dc.strides(self)
        if not memory_format:
            return is_contiguous(shape, strides)
        if memory_format == 1:
            raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
        if len(shape) != memory_format + 2:
            return False
        # The channels are innermost, then the last dimension, and so on to the first.
        order = [1, *range(len(shape) - 1, 1, -1), 0][::-1]
        return is_contiguous(tuple(shape[dim] for dim in order), tuple(strides[dim] for dim in order))

    def element_size(self) -> int:
        """Return the number of bytes of an element (source: ``torch.Tensor.element_size``)."""
        data = self._dispatch_data
        return data.itemsize if type(data) is _ndarray else self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The number of bytes of an element."""
        data = self._dispatch_data
        return data.itemsize if type(data) is _ndarray else self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements."""
        data = self._dispatch_data
        return data.nbytes if type(data) is _ndarray else self.numel() * self.dtype.itemsize

    def is_floating_point(self) -> bool:
        """Return whether the elements are real floating-point numbers (source: ``torch.Tensor.is_floating_point``)."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Return whether the elements are complex numbers (source: ``torch.Tensor.is_complex``)."""
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        return self.dtype.is_signed

    @property
    def is_meta(self) -> bool:
        """Whether the tensor has no data."""
        return self._dispatch_mask & _META != 0

    @property
    def is_cpu(self) -> bool:
        """Whether the tensor is on the cpu."""
        return self._dispatch_mask & _CPU != 0

    # Python's protocols.

    def __len__(self) -> int:
        if (ENTERED or type(self) is not Tensor) and (found := ask("__len__", self)) is not NotImplemented:
            return found
        data = self._dispatch_data
        shape = data.shape if is_plain[type(data)] else dc.shape(self)
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not dc.shape(self):
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self) -> Tensor:
        if (ENTERED or type(self) is not Tensor) and (found := ask("__reversed__", self)) is not NotImplemented:
            overridden: Tensor = found
            return overridden
        return self.flip(0) if dc.shape(self) else self

    def __bool__(self) -> bool:
        if (ENTERED or type(self) is not Tensor) and (found := ask("__bool__", self)) is not NotImplemented:
            return found
        try:
            return bool(self.item())
        except Exception as error:
            if (count := self.numel()) == 1:
                trim_traceback(error)
                raise
        values = "no values" if not count else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {values} is ambiguous")

    def _only(self) -> Any:
        try:
            return self.item()
        except Exception as error:
            if self.numel() == 1:
                trim_traceback(error)
                raise
        raise ValueError("only one element tensors can be converted to Python scalars")

    def __int__(self) -> int:
        if (ENTERED or type(self) is not Tensor) and (found := ask("__int__", self)) is not NotImplemented:
            return found
        found = self._only()
        return found if type(found) is int else int(_read_real(found, "int64_t"))

    def __float__(self) -> float:
        if (ENTERED or type(self) is not Tensor) and (found := ask("__float__", self)) is not NotImplemented:
            return found
        found = self._only()
        return found if type(found) is float else float(_read_real(found, "double"))

    def __complex__(self) -> complex:
        if (ENTERED or type(self) is not Tensor) and (found := ask("__complex__", self)) is not NotImplemented:
            return found
        return complex(self._only())

    def __index__(self) -> int:
        if (ENTERED or type(self) is not Tensor) and (found := ask("__index__", self)) is not NotImplemented:
            return found
        if self.numel() != 1 or not (self.dtype.is_integral or self.dtype == ScalarType.Bool):
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __schema_number__(self) -> Any:
        """Return the number of a tensor of no dimensions that needs no gradient, which torch's operators take for one."""
        return None if dc.shape(self) or self.requires_grad else self.item()

    def __contains__(self, element: object) -> bool:
        if (ENTERED or type(self) is not Tensor) and (
            found := ask("__contains__", self, element)
        ) is not NotImplemented:
            return found
        if isinstance(element, (Tensor, int, float, complex)):
            return bool((self == element).any())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __hash__(self) -> int:
        return id(self)

    def __format__(self, spec: str) -> str:
        if (ENTERED or type(self) is not Tensor) and (found := ask("__format__", self, spec)) is not NotImplemented:
            return found
        if not dc.shape(self) and not self.is_meta and (spec or type(self) is Tensor):
            return format(self.item(), spec)
        try:
            return object.__format__(self, spec)
        except TypeError as error:
            raise TypeError(
                f"{error}\nHint: the tensor has shape {list(dc.shape(self))}; format its elements"
            ) from None


#: Makes an object without data, as a call of a class of a plain type does, and as fast.
bare: Final[Callable[[], Tensor]] = type.__call__.__get__(Tensor)

# The methods of these that need the engine, the levels or networks are added in `surface.tensor_class`.


def _read_real(value: Any, kind: str) -> Any:
    """Return a number without its imaginary part, which has to be zero."""
    if type(value) is not complex:
        return value
    if value.imag:
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
    return value.real


class TensorWrites(frontends.Writes):
    """Counts writes, and gives tensors other arrays where arrays cannot be written to."""

    note_write = staticmethod(Tensor._count_write)
    rebind = staticmethod(rebind)
    become = staticmethod(become)

    def check_write(self, tensor: Tensor, name: str) -> None:
        if tensor._state.expanded:
            check_expanded(name)


class TensorAutograd(frontends.Autograd):
    """The engine's kernels, and the questions whether calls need them."""

    prepare = staticmethod(prepare)
    records = staticmethod(is_grad_enabled)

    @staticmethod
    def has_history(tensor: Tensor) -> bool:
        state = tensor._autograd
        return type(state) is not tuple or bool(state[0]._dispatch_mask & AUTOGRAD)


class TensorLayers(frontends.Layers):
    """Batching rules and casts of operators' authors, functionalization, and calls over devices."""


class TensorCapture(frontends.Capture):
    """The state of tensors besides arrays, for captured functions."""

    remake = staticmethod(remake)

    @staticmethod
    def environment() -> Any:
        return is_grad_enabled(), is_inference_mode_enabled(), get_default_dtype(), current_autocast()

    @staticmethod
    def passing_layers() -> int:
        return 0 if refused_by_captures() else dc.DispatchKey.PythonTLSSnapshot.value


frontend: Frontend[Tensor] = register_frontend(
    "torchlike",
    Tensor,
    views=make_views(bare),
    writes=TensorWrites(),
    autograd=TensorAutograd(),
    layers=TensorLayers(),
    capture=TensorCapture(),
)


def wrap(array: Any) -> Tensor:
    """Return a backend's array as a fresh tensor."""
    return frontend.wrap(array)
