"""Methods of tensors that few programs use; they are imported when one of them is first named."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, cast

import dispatch_core as dc
from dispatch_aten.shapes import memory_order

from ..creation.factories import FACTORIES, tensor
from ..creation.literals import is_sequence
from ..device_modules.stream_functions import record_stream
from ..functions.arrangements import unique
from ..functions.inner import is_inference
from ..functions.matrices import lstsq, lu, symeig
from ..tensors.arguments import check_tensor
from ..tensors.arrays import as_subclass as _as_subclass
from ..tensors.arrays import data_ptr, give_class, keep_class, read_elements
from ..tensors.overriding_classes import is_wrapper
from ..tensors.storages import TypedStorage, UntypedStorage
from ..tensors.tensor import Tensor
from ..values.argument_types import DeviceLike
from ..values.dtypes import memory_format
from ..values.size import Size

__all__ = [
    "_make_subclass",
    "apply_",
    "as_subclass",
    "const_data_ptr",
    "dim_order",
    "get_device",
    "is_distributed",
    "is_inference",
    "lstsq",
    "lu",
    "map2_",
    "map_",
    "new",
    "record_stream",
    "resize",
    "resize_as",
    "set_",
    "storage",
    "symeig",
    "unique",
    "untyped_storage",
]


def _make_subclass(cls: type[Tensor], data: Tensor, require_grad: bool = False) -> Tensor:
    """Return a tensor of a subclass that shares the memory of another, without its history (source: ``torch.Tensor``)."""
    check_tensor(data, "_make_subclass", "data")
    if is_wrapper(data):
        return keep_class(data, cls)
    with dc.exclude_keys("TorchFunction", "Python"):
        made = give_class(data.detach(), cls)
    return made._require_grad() if require_grad else made


def _compute(name: str, self: Tensor, function: Callable[..., Any], others: Sequence[Tensor]) -> Tensor:
    """Write the results of a function of Python's numbers for each element into the tensor."""
    if self.requires_grad:
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if not self.is_cpu:
        raise TypeError(f"{name} is only implemented on CPU tensors")
    if not callable(function):
        raise TypeError(f"{name}(): argument 'callable' must be callable, not {type(function).__name__}")
    for each in others:
        check_tensor(each, name, "tensor")
    wide = [read_elements(each.expand(self.shape)) for each in others]
    rows = zip(*(each.reshape(-1).tolist() for each in (read_elements(self), *wide)), strict=True)
    made = tensor([function(*row) for row in rows] or [0], dtype=self.dtype)
    return self.copy_(made[: self.numel()].reshape(self.shape))


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:  # torch's name
    """Replace each element by a function of it; slow (source: ``torch.Tensor.apply_``).

    >>> import torchlike
    >>> torchlike.tensor([1., 2.]).apply_(lambda x: x * 10)
    tensor([10., 20.])
    """
    return _compute("apply_", self, callable, ())


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:  # torch's names
    """Replace each element by a function of it and of another tensor's (source: ``torch.Tensor.map_``)."""
    return _compute("map_", self, callable, (tensor,))


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:  # torch's names
    """Replace each element by a function of it and of two other tensors' (source: ``torch.Tensor.map2_``)."""
    return _compute("map2_", self, callable, (x, y))


def as_subclass(self: Tensor, cls: type[Tensor]) -> Tensor:
    """Return the same data as an object of a subclass (source: ``torch.Tensor.as_subclass``)."""
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(f"cls must be a type that is derived from Tensor, not {type(cls).__name__}")
    return _as_subclass(cls, self)


def const_data_ptr(self: Tensor) -> int:
    """Return the address of the first element, which is not written to there (source: ``torch.Tensor.const_data_ptr``)."""
    return data_ptr(self)


def set_(
    self: Tensor,
    source: Tensor | UntypedStorage | None = None,
    storage_offset: int = 0,
    size: Sequence[int] | None = None,
    stride: Sequence[int] = (),
) -> Tensor:
    """Move the tensor to the memory of another, or to a part of it (source: ``torch.Tensor.set_``).

    Raises ``RuntimeError`` for another dtype or device.
    """
    aten: Any = dc.ops.aten
    if source is None:
        return cast(Tensor, aten.set_(self))
    if isinstance(source, UntypedStorage):
        source = source.read_as(self.dtype)
        size = (source.numel(),) if size is None else size
    if size is None:
        return cast(Tensor, aten.set_(self, source))
    return cast(Tensor, aten.set_(self, source, storage_offset, list(size), list(stride)))


def storage(self: Tensor) -> TypedStorage:
    """Return the memory as elements (source: ``torch.Tensor.storage``)."""
    return TypedStorage(self)


def untyped_storage(self: Tensor) -> UntypedStorage:
    """Return the memory as bytes (source: ``torch.Tensor.untyped_storage``)."""
    return UntypedStorage(self)


def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """Return the dimensions in the order of memory, the one of the widest step first (source: ``torch.Tensor.dim_order``).

    Raises ``RuntimeError`` with ``ambiguity_check`` where elements share memory or sizes of 1 leave the order open, unless
    it is a list of memory formats of which the tensor has one; ``TypeError`` for anything but a bool or such a list.
    """
    shape, strides = tuple(self.shape), self.stride()
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if (formats is not ambiguity_check and not isinstance(ambiguity_check, bool)) or not all(
        isinstance(each, memory_format) for each in formats
    ):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if ambiguity_check is not False:
        is_open = 1 in shape or any(one == two for one, two in itertools.pairwise(strides))
        if is_open and sum(self.is_contiguous(memory_format=each) for each in formats) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
            )
        if 0 in strides and not self.is_contiguous():
            raise RuntimeError("The tensor does not have unique dim order.")
    return tuple(range(len(shape))) if self.is_contiguous() else tuple(reversed(memory_order(shape, [strides])))


def get_device(self: Tensor) -> int:
    """Return the index of the device, -1 for the cpu and meta (source: ``torch.Tensor.get_device``)."""
    return -1 if self.is_cpu or self.is_meta else self.device.index or 0


def is_distributed(self: Tensor) -> bool:
    """Return False: tensors lie on one device (source: ``torch.Tensor.is_distributed``)."""
    return False


def new(self: Tensor, *args: Any, size: Any = None, device: DeviceLike = None, dtype: Any = None) -> Tensor:
    """Make a tensor of the same dtype and device: of sizes, or of data (source: ``torch.Tensor.new``).

    >>> import torchlike
    >>> torchlike.ones(2, dtype=torchlike.int64).new([1, 2]), torchlike.ones(2).new(2, 3).shape
    (tensor([1, 2]), torchlike.Size([2, 3]))
    """
    args = args if size is None else (Size(size),)
    if self.is_sparse:
        return _make_sparse(self, args, device)
    options: dict[str, Any] = {
        "dtype": self.dtype if dtype is None else dtype,
        "device": self.device if device is None else device,
    }
    if len(args) == 1 and not isinstance(args[0], (int, Size)):
        (data,) = args
        if isinstance(data, Tensor):
            if (data.dtype, data.device) != (options["dtype"], options["device"]):
                wanted = f"{options['dtype']} on {options['device']}"
                raise TypeError(f"new(): expected a tensor of {wanted}, got {data.dtype} on {data.device}")
            found: Tensor = dc.ops.aten.alias.default(data)
            return found
        if not is_sequence(data):
            raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
        return tensor(data, **options)
    return FACTORIES["empty"](*(args or (0,)), **options)


def _make_sparse(self: Tensor, args: tuple[Any, ...], device: DeviceLike) -> Tensor:
    """Return a sparse tensor of sizes, or of indices and values, which keep their dtype."""
    from ..sparse.construction import make_empty, sparse_coo_tensor

    device = self.device if device is None else device
    if len(args) in (2, 3) and all(isinstance(each, Tensor) for each in args[:2]):
        return sparse_coo_tensor(*args, device=device)
    if len(args) == 1 and isinstance(args[0], Size):
        args = args[0]
    if not all(isinstance(each, int) for each in args):
        raise TypeError(
            "new(): of a sparse tensor only accepts sizes, or indices and values\n"
            "Hint: torchlike.sparse_coo_tensor() makes one of other data"
        )
    return make_empty(args or (0,), self.dtype, device)


def resize(self: Tensor, *sizes: Any) -> Tensor:
    """Return the elements in another shape of as many (source: ``torch.Tensor.resize``)."""
    warnings.warn("non-inplace resize is deprecated", UserWarning, stacklevel=2)
    return self.contiguous().view(*sizes)


def resize_as(self: Tensor, tensor: Tensor) -> Tensor:  # torch's name
    """Return the elements in the shape of another tensor (source: ``torch.Tensor.resize_as``)."""
    warnings.warn("non-inplace resize_as is deprecated", UserWarning, stacklevel=2)
    check_tensor(tensor, "resize_as", "tensor")
    return self.contiguous().view(tensor.shape)
