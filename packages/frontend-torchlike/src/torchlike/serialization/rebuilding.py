"""Tensors of files that ``torch.save`` writes: the functions that their pickles call, with arguments that are checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final
from weakref import ref

import numpy as np

from dispatch_aten.dtypes import QUANTIZED, ScalarType

from ..creation.factories import FACTORIES
from ..history.grad_mode import no_grad
from ..nn.parameter import Buffer, Parameter
from ..overrides.dispatch import make_wrapper
from ..tensors.arrays import as_subclass
from ..tensors.mesh_places import PLACE, put_in_place
from ..tensors.overriding_classes import read_slot_names
from ..tensors.storages import TypedStorage
from ..tensors.tensor import Tensor
from .archive import Archive
from .arrays import LARGEST_ALIGNMENT, STORAGE_CLASSES, FileStorage, Placed, check_numbers, complete
from .layouts.nested import MODULE, DimRange, is_nested, own_attributes, rebuild_nested, refuse_strided
from .layouts.quantized import rebuild_quantized
from .layouts.records import rebuild_record
from .layouts.sparse import read_layout, rebuild_sparse
from .locations import Locator
from .opcodes import Global
from .settings import is_data_skipped
from .sources import Bytes

#: Classes of storages by torch's names.
STORAGES: Final = {
    **{f"torch.{name}": dtype for dtype, name in STORAGE_CLASSES.items()},
    "torch.storage.UntypedStorage": ScalarType.Byte,
}
#: Classes of tensors by torch's names.
CLASSES: Final = ("torch.Tensor", "torch.nn.parameter.Parameter", f"{MODULE}.NestedTensor")
_PREFIX: Final = "torch._utils._rebuild_"


class SavedStorage(TypedStorage):
    """A storage of a file, the dtype of its elements, and the device that it was on.

    Most serve tensors only; one that a structure holds by itself is read when `Rebuilder.finish` finds that it is there.
    """

    __slots__ = ("__weakref__", "_dtype", "_whole", "content", "location")

    def __init__(self, content: FileStorage, dtype: ScalarType, location: str) -> None:
        self.content, self._dtype, self.location = content, dtype, location
        self.filename = None
        self._whole: Tensor | None = None

    @property
    def dtype(self) -> ScalarType:
        """The type of the elements."""
        return self._dtype

    @property
    def _tensor(self) -> Tensor:  # type: ignore[override]  # the attribute of others, which is set when they are made
        if self._whole is None:
            raise RuntimeError("a storage is read when the whole file is")
        return self._whole

    def fetch(self, placed: Placed, locate: Locator) -> None:
        """Read the elements."""
        count = self.content.nbytes // self._dtype.itemsize
        node = {"offset": 0, "shape": (count,), "stride": (1,), "device": self.location}
        self._whole = placed.make(self.content, self._dtype, node, locate)


class Rebuilder:
    """Makes tensors of the entries of a zip file, whose names begin with ``root``.

    ``is_swapped`` says that numbers have the other order of bytes than this machine's.
    """

    def __init__(self, archive: Archive | None, root: str, locate: Locator, *, is_swapped: bool = False) -> None:
        self._is_swapped = is_swapped
        self._archive, self._root, self._locate, self._placed = archive, root, locate, Placed()
        self._storages: dict[str, tuple[FileStorage, ScalarType]] = {}
        self._given: list[ref[SavedStorage]] = []

    def finish(self) -> None:
        """Read the storages that the structure holds by themselves."""
        for each in self._given:
            storage = each()
            if storage is not None:
                storage.fetch(self._placed, self._locate)

    def list_functions(self) -> dict[str, Callable[..., Any]]:
        """Return the functions of ours by torch's names."""
        return {
            "torch._tensor._rebuild_from_type_v2": self._rebuild_from_type,
            f"{_PREFIX}device_tensor_from_cpu_tensor": self._rebuild_device_tensor,
            f"{_PREFIX}meta_tensor_no_storage": _rebuild_meta,
            f"{_PREFIX}parameter": _rebuild_parameter,
            f"{_PREFIX}parameter_with_state": _rebuild_parameter_with_state,
            f"{_PREFIX}qtensor": self._rebuild_quantized,
            f"{_PREFIX}nested_tensor": refuse_strided,
            f"{_PREFIX}sparse_tensor": rebuild_sparse,
            f"{_PREFIX}tensor": self._rebuild_tensor,
            f"{_PREFIX}tensor_v2": self._rebuild_tensor,
            f"{_PREFIX}tensor_v3": self._rebuild_tensor_v3,
            f"{_PREFIX}wrapper_subclass": self._rebuild_wrapper,
            "torch.serialization._get_layout": read_layout,
            f"{MODULE}._rebuild_njt": rebuild_nested,
            "torch.layouts.rebuild_record": rebuild_record,
            "torch._dynamo.decorators._DimRange": DimRange,
        }

    def load_storage(self, identity: Any) -> SavedStorage:
        """Return the storage of a persistent id: ``("storage", class, key, location, number of elements)``."""
        dtype, key, location, count = read_identity(identity)
        found = self._storages.get(key)
        if found is None:
            name = f"{self._root}data/{key}"
            size = self._archive.sizes.get(name) if self._archive else None
            if size is None or size != count * dtype.itemsize:
                raise ValueError(f"the storage {key!r} is missing, or has another size")
            content = FileStorage(size, self._reader(name, size, dtype))
            found = self._storages[key] = content, dtype
        elif found[0].nbytes != count * dtype.itemsize:
            raise ValueError(f"the storage {key!r} has another size")
        return self._give(SavedStorage(found[0], dtype, location))

    def _give(self, storage: SavedStorage) -> SavedStorage:
        """Return a storage that is remembered while it lives."""
        self._given.append(ref(storage))
        return storage

    def _reader(self, name: str, size: int, dtype: ScalarType) -> Callable[[], Bytes]:
        """Return the function that reads a storage."""
        if is_data_skipped():
            return lambda: np.zeros(size, np.uint8)
        assert self._archive is not None  # the caller has found the entry
        read = partial(self._archive.take, name, alignment=LARGEST_ALIGNMENT)
        return partial(_read_swapped, read, dtype) if self._is_swapped else read

    def _rebuild_tensor(
        self,
        storage: Any,
        offset: Any,
        size: Any,
        stride: Any,
        requires_grad: Any = False,
        hooks: Any = None,
        metadata: Any = None,
    ) -> Tensor:
        if not isinstance(storage, SavedStorage):
            raise ValueError("a tensor has no storage")
        return self._make(storage, storage.dtype, offset, size, stride, requires_grad, metadata)

    def _rebuild_quantized(
        self,
        storage: Any,
        offset: Any,
        size: Any,
        stride: Any,
        parameters: Any,
        requires_grad: Any = False,
        hooks: Any = None,
    ) -> Tensor:
        """Return a quantized tensor, whose storage has its dtype."""
        if not isinstance(storage, SavedStorage):
            raise ValueError("a tensor has no storage")
        integers = QUANTIZED.get(storage.dtype)
        if integers is None:
            raise ValueError("a quantized tensor has a storage of other numbers")
        made = self._make(storage, integers, offset, size, stride, False, None)
        return rebuild_quantized(made, storage.dtype, parameters)

    def _rebuild_tensor_v3(
        self,
        storage: Any,
        offset: Any,
        size: Any,
        stride: Any,
        requires_grad: Any,
        hooks: Any,
        dtype: Any,
        metadata: Any = None,
    ) -> Tensor:
        if not isinstance(storage, SavedStorage):
            raise ValueError("a tensor has no storage")
        if self._is_swapped and storage.dtype is not dtype and _to_dtype(dtype).itemsize > 1:
            raise ValueError(f"a tensor of {dtype!r} lies in a storage of bytes of another order")
        return self._make(storage, _to_dtype(dtype), offset, size, stride, requires_grad, metadata)

    def _make(
        self,
        storage: SavedStorage,
        dtype: ScalarType,
        offset: Any,
        size: Any,
        stride: Any,
        requires_grad: Any,
        metadata: Any,
    ) -> Tensor:
        (start,) = check_numbers([offset], "offset")
        node = {"offset": start * dtype.itemsize, "shape": size, "stride": stride, "device": storage.location}
        made = self._placed.make(storage.content, dtype, node, self._locate)
        if metadata:
            made = _compute(made, metadata)
        return complete(made, requires_grad is True, False)

    def _rebuild_device_tensor(self, data: Any, dtype: Any, device: Any, requires_grad: Any) -> Tensor:
        """Return a tensor of a device without storages, of the copy on the cpu that was saved."""
        if not isinstance(data, Tensor):
            raise ValueError("a tensor has no data")
        return complete(data.detach().to(self._locate(device), _to_dtype(dtype)), requires_grad is True, False)

    def _rebuild_wrapper(
        self, kind: Any, dtype: Any, size: Any, stride: Any, offset: Any, layout: Any, device: Any, requires_grad: Any
    ) -> Tensor:
        """Return a tensor without elements, of a class that the program allows."""
        if not isinstance(kind, type) or not issubclass(kind, Tensor):
            raise ValueError("a tensor is of a class of its own")
        sizes, strides = check_numbers(size, "size"), check_numbers(stride, "stride")
        (start,) = check_numbers([offset], "offset")
        options: dict[str, Any] = {"dtype": _to_dtype(dtype), "layout": layout, "requires_grad": requires_grad is True}
        return make_wrapper(kind, sizes, strides, start, device=self._locate(str(device)), **options)

    def _rebuild_from_type(self, function: Any, kind: Any, arguments: Any, state: Any) -> Any:
        """Return a tensor of a class with the attributes that it had."""
        call: Any = function.call if isinstance(function, Global) else function
        if call not in self.list_functions().values() or type(arguments) is not tuple:
            raise ValueError("a tensor is rebuilt by no function for it")
        made = call(*arguments)
        is_plain = kind.name in CLASSES if isinstance(kind, Global) else kind in (Tensor, Parameter)
        if not isinstance(made, Tensor):
            raise ValueError("a tensor is rebuilt by no function for it")
        if is_plain:
            return set_tensor_attributes(made, state)
        if not isinstance(kind, type) or not issubclass(kind, Tensor):
            raise ValueError("a tensor is of a class of its own")
        if type(made) is not kind:
            made = as_subclass(kind, made)
        if hasattr(kind, "__setstate__"):
            made.__setstate__(state)  # type: ignore[attr-defined]  # as the line above found
            return made
        return set_tensor_attributes(made, state)


def read_identity(identity: Any) -> tuple[ScalarType, str, str, int]:
    """Return the dtype, the key, the location and the number of elements that a storage's persistent id says."""
    if type(identity) is not tuple or len(identity) != 5 or identity[0] != "storage":
        raise ValueError("a persistent id is that of no storage")
    _, kind, key, location, count = identity
    dtype = STORAGES.get(kind.name) if isinstance(kind, Global) else None
    if dtype is None or type(key) is not str or type(location) is not str:
        raise ValueError("a persistent id is that of no storage")
    (count,) = check_numbers([count], "the number of elements")
    return dtype, key, location, count


def _read_swapped(read: Callable[[], Bytes], dtype: ScalarType) -> Bytes:
    """Return the bytes of a storage in the other order, number by number."""
    content = read()
    size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    if size > 1:
        content.view(f"u{size}").byteswap(inplace=True)
    return content


def _compute(made: Tensor, metadata: Any) -> Tensor:
    """Return the values of a tensor that torch saves as those before a conjugation or a change of sign."""
    if type(metadata) is not dict or not metadata.keys() <= {"conj", "neg"}:
        raise ValueError("a tensor has metadata of another kind")
    with no_grad():
        if metadata.get("conj") is True:
            made = made.conj()
        return -made if metadata.get("neg") is True else made


def _to_dtype(value: Any) -> ScalarType:
    if not isinstance(value, ScalarType):
        raise ValueError("a dtype is none")
    return value


def _rebuild_parameter(data: Any, requires_grad: Any, hooks: Any = None) -> Any:
    if not isinstance(data, Tensor):
        raise ValueError("a parameter has no data")
    return Parameter(data.detach(), requires_grad is True)


def _rebuild_parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    return set_tensor_attributes(_rebuild_parameter(data, requires_grad), state)


def set_tensor_attributes(tensor: Tensor, state: Any) -> Tensor:
    """Return a tensor with the state that a pickle has for it; ``ValueError`` for a state that is none."""
    if type(state) is tuple and len(state) == 2 and all(isinstance(each, dict) for each in state):
        state, slots = state
        known = read_slot_names(type(tensor))
        if not known.issuperset(slots):
            raise ValueError("a tensor's class has no slots for its attributes")
        for name, value in slots.items():
            setattr(tensor, name, value)
    if not isinstance(state, dict) or not all(type(name) is str for name in state):
        raise ValueError("a tensor's attributes have no names")
    if PLACE in state:
        state = dict(state)
        put_in_place(tensor, state.pop(PLACE))
    if is_nested(tensor):
        state = own_attributes(state)
    if state.get("_is_buffer") is True and type(state.get("persistent")) is bool:
        state = dict(state)
        del state["_is_buffer"]
        tensor = Buffer(tensor, persistent=state.pop("persistent"))
    if state.get("requires_grad") is True:  # a sparse tensor's
        state = dict(state)
        tensor.requires_grad_(state.pop("requires_grad"))
    vars(tensor).update(state)
    return tensor


def _rebuild_meta(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    sizes, strides = check_numbers(size, "size"), check_numbers(stride, "stride")
    made = FACTORIES["empty_strided"](sizes, strides, dtype=_to_dtype(dtype), device="meta")
    return made.requires_grad_() if requires_grad is True else made
