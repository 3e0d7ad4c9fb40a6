"""The tensor class: the two attributes that the dispatcher reads, one slot for autograd's state, and what Python asks for.

Operators are methods too; they are made from tables and added in ``torchlike.methods``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import ref

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_core.forks import Order, forkable
from dispatch_core.frontend import Frontend, register_frontend
from dispatch_core.keys import ARRAYS, AUTOGRAD, DispatchKey, keys_of
from dispatch_core.transactions import outside

from . import views
from .autograd.node import Leaf, Node, RemovableHandle, State, is_plain
from .size import Size

if TYPE_CHECKING:
    import numpy as np

__all__ = ["AUTOGRAD_BITS", "Tensor", "autograd_bit", "bare", "frontend", "wrap"]


class _AutogradBits(dict[int, int]):
    """A tensor's mask → the Autograd key of its device, as a mask; worked out when it is first asked for."""

    def __missing__(self, mask: int) -> int:
        bit = 0
        for key in keys_of(mask & ARRAYS):
            autograd = DispatchKey(f"Autograd{key.backend}" if key.backend else "AutogradOther")
            prepare(autograd)
            bit |= autograd
        self[mask] = bit
        return bit


def prepare(key: DispatchKey) -> None:
    """Register what runs under an Autograd key, once; not as part of what a plugin registers that is just loading."""

    def register() -> None:
        from .autograd.register import cover  # it needs the operators, which need this class

        cover(key)

    if key not in _prepared:
        outside(register)
        _prepared.add(key)


_prepared: Final[set[DispatchKey]] = set()
AUTOGRAD_BITS: Final = _AutogradBits()
autograd_bit: Final = AUTOGRAD_BITS.__getitem__
_making: Final = forkable(Order.MEMORY)


class _Constructor(type):
    """Lets users call the class for a tensor with data, and the dispatcher make bare objects at no more than it costs."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        kind: Any = cls
        if kind.__new__ is object.__new__ and kind.__init__ is object.__init__:
            from .creation import construct

            return construct(kind, *args, **kwargs)
        return type.__call__(cls, *args, **kwargs)


class Tensor(metaclass=_Constructor):
    """An array on a device, with autograd (source: ``torch.Tensor``).

    Made by ``torchlike.tensor`` and the other factories, and by operators.

    >>> import torchlike
    >>> t = torchlike.tensor([[1., 2.], [3., 4.]])
    >>> (t @ t).sum(dim=0)
    tensor([22., 32.])
    """

    # The dispatcher makes a fresh result by `bare()` and two writes, so there is no __init__, and no __getattr__ either:
    # CPython reads the attributes of a class that has one several times slower.
    __slots__ = ("__weakref__", "_autograd", "_dispatch_data", "_dispatch_mask")
    _dispatch_data: Any
    _dispatch_mask: int
    #: A `State`, unset until something needs one; set wherever the mask has an Autograd bit, and there it may be read
    #: directly. `_state` reads it everywhere else. Typed loosely because its subclasses store what others compute.
    _autograd: Any

    __array_priority__ = 1000

    if TYPE_CHECKING:
        # Python's operators and torch's methods are added in `methods`.
        def __getattr__(self, name: str) -> Any: ...
        def __neg__(self) -> Tensor: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __eq__(self, other: object) -> Any: ...
        def __getitem__(self, index: Any) -> Tensor: ...

    @property
    def _state(self) -> Any:
        """The state, made on first need."""
        try:
            return self._autograd
        except AttributeError:
            with _making:  # two threads must not each make one, and lose what the other wrote to its own
                if (state := getattr(self, "_autograd", None)) is None:
                    state = self._autograd = Leaf.of(self)
                return state

    # What the dispatcher's boundary calls; see Note [The boundary contract] in dispatch_core.frontend.

    def _dispatch_view(self, data: Any, op: Any, args: tuple[Any, ...]) -> Tensor:
        tensor = bare()
        mask = self._dispatch_mask
        tensor._dispatch_data = data
        tensor._dispatch_mask = mask | AUTOGRAD_BITS[mask]
        views.new_view(tensor, self, op, args)
        return tensor

    def _dispatch_mutated(self) -> None:
        state = self._state
        storage = state.storage
        if storage is None:
            storage = state.shared_storage()
        storage.version += 1

    def _dispatch_rebind(self, data: Any) -> None:
        views.rebind(self, data)

    @staticmethod
    def _dispatch_mixed(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from .devices import call_mixed

        return call_mixed(op, args, kwargs)

    _dispatch_prepare = staticmethod(prepare)

    @staticmethod
    def _dispatch_autograd(op: Any, keyset: Any, formula: Any) -> Callable[..., Any]:
        from .autograd.custom import make_kernel

        return make_kernel(op, keyset, formula)

    # Autograd.

    def _meta(self) -> tuple[tuple[int, ...], Any]:
        data = self._dispatch_data
        return (data.shape, data.dtype) if is_plain[type(data)] else (dc.shape(data), dc.dtype(data))

    @property
    def requires_grad(self) -> bool:
        """Whether operators on the tensor are recorded for backward."""
        return bool(self._state.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Say whether operators on the tensor are recorded; only for leaves, and floating-point or complex types."""
        state = self._state
        if state.made is not None:
            if not requires_grad:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in "
                    "a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
                )
            return self
        if requires_grad:
            if not self.dtype.is_differentiable:
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
            self._dispatch_mask |= autograd_bit(self._dispatch_mask)
        if state.is_view:
            state.tensor = ref(self)
        state.requires_grad = bool(requires_grad)
        return self

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient, or None."""
        state = self._state
        if state.grad is None and (made := state.made) is not None and made.retained is None:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
                "Tensor, use .retain_grad() on the non-leaf Tensor.",
                UserWarning,
                stacklevel=2,
            )
        return cast("Tensor | None", state.grad)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value.shape != self.shape:
                raise RuntimeError("assigned grad has data of a different size")
            if value.dtype != self.dtype:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{value.dtype}' to a tensor with dtype '{self.dtype}'."
                )
        self._state.grad = value

    @grad.deleter
    def grad(self) -> None:
        self._state.grad = None

    @property
    def grad_fn(self) -> Node | None:
        """The node of the graph that made the tensor, or None for a leaf."""
        return cast("State", self._state).grad_fn

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operator made the tensor."""
        return self._state.grad_fn is None

    @property
    def output_nr(self) -> int:
        """Which result of its node the tensor is."""
        return int(self._state.output_nr)

    @property
    def _version(self) -> int:
        return int(self._state.version)

    @property
    def _base(self) -> Tensor | None:
        state = self._state
        return state.base if state.is_view else None

    @property
    def _pending(self) -> bool:
        """Whether a pipeline still has to compute the elements, or a write to them."""
        from dispatch_core.pipelines import is_pending  # most programs open none

        return is_pending(self)

    def _is_view(self) -> bool:
        return self._base is not None

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Accumulate the gradients of the tensor into the leaves it came from (source: ``torch.Tensor.backward``)."""
        from .autograd.functional import backward

        backward(self, gradient, retain_graph, create_graph, inputs)

    def retain_grad(self) -> None:
        """Keep the gradient of a tensor that is no leaf in ``.grad``."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        state = self._state
        if state.made is None or self._keeps(state):
            return
        edge = state.edge
        if edge.node.retained is None:
            edge.node.retained = {}
        edge.node.retained[edge.output_nr] = self._state

    @property
    def retains_grad(self) -> bool:
        """Whether ``retain_grad`` was called on a tensor that is no leaf."""
        return self._keeps(self._state)

    @staticmethod
    def _keeps(state: Any) -> bool:
        made = state.made
        return made is not None and made.retained is not None and state.output_nr in made.retained

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call ``hook(grad)`` whenever a gradient of the tensor is computed; what it returns replaces the gradient."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        edge = self._state.edge
        return cast("RemovableHandle", edge.node.hook_result(edge.output_nr, hook))

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` whenever a gradient has been accumulated into a leaf's ``.grad``."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        state = self._state
        if state.post_accumulate is None:
            state.post_accumulate = {}
        return RemovableHandle(state.post_accumulate, hook)

    def detach_(self) -> Tensor:
        """Cut the tensor off its history, in place."""
        state = self._state
        if state.is_view and state.base is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        if isinstance(state, Leaf):
            state.requires_grad = False  # the graphs that lead to it stay as they are
        if isinstance(state, views.View):
            state.history = None
        elif not isinstance(state, Leaf):
            leaf = self._autograd = Leaf.of(self)
            leaf.storage, leaf.chain, leaf.grad = state.storage, state.chain, state.grad
            leaf.cut, Leaf.was_cut = ref(state.edge.node), True
        return self

    @property
    def data(self) -> Tensor:
        """The same memory as a tensor without history and with versions of its own."""
        return wrap(self._dispatch_data)

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.requires_grad and not value.dtype.is_differentiable:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        mask = value._dispatch_mask & ~AUTOGRAD
        if self._dispatch_mask & AUTOGRAD:
            mask |= autograd_bit(mask)
        self._dispatch_mask = mask
        self._dispatch_data = value._dispatch_data

    # What a tensor looks like.

    @property
    def shape(self) -> Size:
        """The sizes of all dimensions."""
        return Size(dc.shape(self))

    @property
    def dtype(self) -> ScalarType:
        """The type of the elements."""
        return cast("ScalarType", dc.dtype(self))

    @property
    def device(self) -> dc.Device:
        """Where the elements are."""
        return dc.device(self)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(dc.shape(self))

    def dim(self) -> int:
        return len(dc.shape(self))

    ndimension = dim

    def size(self, dim: int | None = None) -> Any:
        shape = dc.shape(self)
        return Size(shape) if dim is None else shape[_wrapped(dim, len(shape))]

    def stride(self, dim: int | None = None) -> Any:
        strides = dc.strides(self)
        return strides if dim is None else strides[_wrapped(dim, len(strides))]

    def storage_offset(self) -> int:
        return dc.storage_offset(self)

    def numel(self) -> int:
        count = 1
        for size in dc.shape(self):
            count *= size
        return count

    nelement = numel

    def is_contiguous(self) -> bool:
        """Tell whether the elements lie in memory in row-major order without gaps."""
        sizes = dc.shape(self)
        if 0 in sizes:
            return True
        step = 1
        for size, stride in zip(reversed(sizes), reversed(dc.strides(self)), strict=True):
            if size != 1:
                if stride != step:
                    return False
                step *= size
        return True

    def element_size(self) -> int:
        return self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.numel() * self.dtype.itemsize

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        return self.dtype.is_signed

    @property
    def is_meta(self) -> bool:
        """Whether the tensor has no data."""
        return bool(self._dispatch_mask & DispatchKey.Meta)

    @property
    def is_cpu(self) -> bool:
        """Whether the tensor is on the cpu."""
        return bool(self._dispatch_mask & DispatchKey.CPU)

    # The way to Python and NumPy.

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """Give a NumPy array of the elements, sharing memory on the cpu (source: ``torch.Tensor.numpy``)."""
        from .interop import to_numpy

        return to_numpy(self, force=force)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        from .interop import to_array

        return to_array(self, dtype, copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from .ufuncs import call_ufunc

        return call_ufunc(ufunc, method, inputs, kwargs)

    def tolist(self) -> Any:
        from .interop import readable

        return readable(self).tolist()

    def item(self) -> Any:
        return dc.ops.aten.item(self)

    def data_ptr(self) -> int:
        from .interop import data_ptr

        return data_ptr(self)

    def record_stream(self, stream: Any) -> None:
        from .npu import record_stream

        record_stream(self, stream)

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.numpy().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        from .interop import dlpack_device

        return dlpack_device(self)

    def __len__(self) -> int:
        shape = dc.shape(self)
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not dc.shape(self):
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __bool__(self) -> bool:
        count = self.numel()
        if count != 1:
            values = "no values" if not count else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {values} is ambiguous")
        return bool(self.item())

    def _only(self) -> Any:
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __int__(self) -> int:
        return int(self._only())

    def __float__(self) -> float:
        return float(self._only())

    def __complex__(self) -> complex:
        return complex(self._only())

    def __index__(self) -> int:
        if self.numel() != 1 or not (self.dtype.is_integral or self.dtype == ScalarType.Bool):
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __contains__(self, element: object) -> bool:
        if isinstance(element, (Tensor, int, float, complex)):
            return bool((self == element).any())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        from .printing import tensor_text

        return tensor_text(self)

    def __format__(self, spec: str) -> str:
        if not dc.shape(self) and not self.is_meta and spec:
            return format(self.item(), spec)
        return format(repr(self), spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        from .interop import reduce

        return reduce(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        from .deepcopy import deep_copy

        return deep_copy(self, memo)


def _wrapped(dim: int, rank: int) -> int:
    if not -max(rank, 1) <= dim < max(rank, 1):
        low, high = -max(rank, 1), max(rank, 1) - 1
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
    if not rank:
        raise IndexError(f"dimension specified as {dim} but tensor has no dimensions")
    return dim


#: Makes an object without data: what calling the class comes to for classes of a plain type, and as fast.
bare: Final[Callable[[], Tensor]] = type.__call__.__get__(Tensor)
Tensor._dispatch_new = bare  # type: ignore[attr-defined]

frontend: Frontend[Tensor] = register_frontend("torchlike", Tensor)


def wrap(array: Any) -> Tensor:
    """Give a backend's array as a fresh tensor."""
    return frontend.wrap(array)
