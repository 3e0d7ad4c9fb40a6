"""Files that ``torch.save`` writes: a zip file of a pickle and of storages, read without running anything in them."""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME, ScalarType

from ..creation.factories import FACTORIES
from ..tensors.tensor import Tensor
from ..values.size import Size
from .archive import Archive
from .arrays import LARGEST_ALIGNMENT, FileStorage, Placed, check_numbers
from .hashed_keys import check_key
from .locations import Locator
from .opcodes import Global, unpickle
from .refusals import refuse
from .sources import Source
from .sparse_tensors import read_layout, rebuild_sparse

#: Classes of storages by torch's names.
_STORAGES: Final = {
    **{
        f"torch.{name}Storage": ScalarType[name]
        for name in "BFloat16 Bool Byte Char ComplexDouble ComplexFloat Double Float Half Int Long Short".split()
    },
    "torch.storage.UntypedStorage": ScalarType.Byte,
}


@dataclass(frozen=True, slots=True, eq=False)
class _SavedStorage:
    """A storage, the dtype of its elements, and the device that it was on."""

    content: FileStorage
    dtype: ScalarType
    location: str


class _CheckpointReader:
    """Makes tensors of the entries of a zip file."""

    def __init__(self, archive: Archive, locate: Locator) -> None:
        self._archive, self._locate, self._placed = archive, locate, Placed()
        pickles = [name for name in archive.sizes if name.endswith("/data.pkl") and name.count("/") == 1]
        if len(pickles) != 1:
            raise ValueError("it has no data.pkl")
        self._root = pickles[0].removesuffix("data.pkl")
        self._storages: dict[str, _SavedStorage] = {}
        self._globals: dict[str, Any] = {name: Global(name, call) for name, call in self._list_globals().items()}
        self._globals |= {f"torch.{name}": dtype for name, dtype in BY_NAME.items()}

    def read(self) -> Any:
        """Return the structure."""
        if f"{self._root}byteorder" in self._archive.sizes and self._read("byteorder") != b"little":
            raise ValueError("its byte order is not little-endian")
        return unpickle(self._read("data.pkl"), self._globals, self._load_storage)

    def _read(self, name: str) -> bytes:
        return self._archive.take(self._root + name).tobytes()

    def _list_globals(self) -> dict[str, Any]:
        """Return the functions of ours for the names that a pickle may use; None for names that are not called."""
        return {
            "_codecs.encode": _encode,
            "builtins.bytearray": _make_bytearray,
            "builtins.complex": _make_complex,
            "builtins.set": _make_set,
            "collections.Counter": _make_counter,
            "collections.OrderedDict": _make_ordered_dict,
            "torch.Size": _make_size,
            "torch.Tensor": None,
            "torch._tensor._rebuild_from_type_v2": self._rebuild_from_type,
            "torch._utils._rebuild_meta_tensor_no_storage": _rebuild_meta,
            "torch._utils._rebuild_parameter": _rebuild_parameter,
            "torch._utils._rebuild_parameter_with_state": _rebuild_parameter_with_state,
            "torch._utils._rebuild_sparse_tensor": rebuild_sparse,
            "torch._utils._rebuild_tensor": self._rebuild_tensor,
            "torch._utils._rebuild_tensor_v2": self._rebuild_tensor,
            "torch._utils._rebuild_tensor_v3": self._rebuild_tensor_v3,
            "torch.device": _make_device,
            "torch.nn.parameter.Parameter": None,
            "torch.serialization._get_layout": read_layout,
            **dict.fromkeys(_STORAGES),
        }

    def _load_storage(self, identity: Any) -> _SavedStorage:
        """Return the storage of a persistent id: ``("storage", class, key, location, number of elements)``."""
        if type(identity) is not tuple or len(identity) != 5 or identity[0] != "storage":
            raise ValueError("a persistent id is that of no storage")
        _, kind, key, location, count = identity
        dtype = _STORAGES.get(kind.name) if isinstance(kind, Global) else None
        if dtype is None or type(key) is not str or type(location) is not str:
            raise ValueError("a persistent id is that of no storage")
        (count,) = check_numbers([count], "the number of elements")
        found = self._storages.get(key)
        if found is None:
            name = f"{self._root}data/{key}"
            size = self._archive.sizes.get(name)
            if size != count * dtype.itemsize:
                raise ValueError(f"the storage {key!r} is missing, or has another size")
            content = FileStorage(size, lambda: self._archive.take(name, alignment=LARGEST_ALIGNMENT))
            found = self._storages[key] = _SavedStorage(content, dtype, location)
        elif found.content.nbytes != count * dtype.itemsize:
            raise ValueError(f"the storage {key!r} has another size")
        return _SavedStorage(found.content, dtype, location)

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
        if not isinstance(storage, _SavedStorage):
            raise ValueError("a tensor has no storage")
        return self._make(storage, storage.dtype, offset, size, stride, requires_grad)

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
        if not isinstance(storage, _SavedStorage):
            raise ValueError("a tensor has no storage")
        return self._make(storage, _to_dtype(dtype), offset, size, stride, requires_grad)

    def _make(
        self, storage: _SavedStorage, dtype: ScalarType, offset: Any, size: Any, stride: Any, requires_grad: Any
    ) -> Tensor:
        (start,) = check_numbers([offset], "offset")
        node = {"offset": start * dtype.itemsize, "shape": size, "stride": stride, "device": storage.location}
        return self._placed.make(storage.content, dtype, node | {"requires_grad": requires_grad is True}, self._locate)

    def _rebuild_from_type(self, function: Any, kind: Any, arguments: Any, state: Any) -> Any:
        """Return a tensor of a class with the attributes that it had."""
        if not isinstance(function, Global) or not function.name.startswith("torch._utils._rebuild_"):
            raise ValueError("a tensor is rebuilt by no function for it")
        if not isinstance(kind, Global) or kind.name not in ("torch.Tensor", "torch.nn.parameter.Parameter"):
            raise ValueError("a tensor is of a class of its own")
        call: Any = function.call
        made = call(*arguments)
        if not isinstance(made, Tensor):
            raise ValueError("a tensor is rebuilt by no function for it")
        return _set_attributes(made, state)


def _to_dtype(value: Any) -> ScalarType:
    if not isinstance(value, ScalarType):
        raise ValueError("a dtype is none")
    return value


def _rebuild_parameter(data: Any, requires_grad: Any, hooks: Any = None) -> Any:
    from ..nn.parameter import Parameter

    if not isinstance(data, Tensor):
        raise ValueError("a parameter has no data")
    return Parameter(data.detach(), requires_grad is True)


def _rebuild_parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    return _set_attributes(_rebuild_parameter(data, requires_grad), state)


def _set_attributes(tensor: Tensor, state: Any) -> Tensor:
    if not isinstance(state, dict) or not all(type(name) is str for name in state):
        raise ValueError("a tensor's attributes have no names")
    vars(tensor).update(state)
    return tensor


def _rebuild_meta(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    made = FACTORIES["empty"](check_numbers(size, "size"), dtype=_to_dtype(dtype), device="meta")
    return made.requires_grad_() if requires_grad is True else made


def _encode(text: Any, encoding: Any) -> bytes:
    if type(text) is not str or encoding != "latin1":
        raise ValueError("bytes are encoded otherwise")
    return text.encode("latin1")


def _make_bytearray(content: Any = b"", encoding: Any = None) -> bytearray:
    if type(content) is str and encoding in ("latin1", "latin-1"):
        content = content.encode("latin1")
    if type(content) is not bytes:
        raise ValueError("a bytearray has no bytes")
    return bytearray(content)


def _make_complex(real: Any, imag: Any) -> complex:
    if type(real) is not float or type(imag) is not float:
        raise ValueError("a complex number has no parts")
    return complex(real, imag)


def _make_set(values: Any = ()) -> set[Any]:
    if type(values) not in (list, tuple):
        raise ValueError("a set has no values")
    return set(map(check_key, values))


def _make_counter(values: Any = None) -> Counter[Any]:
    if values is not None and type(values) is not dict:
        raise ValueError("a Counter has no counts")
    return Counter(values or {})


def _make_ordered_dict(values: Any = ()) -> OrderedDict[Any, Any]:
    if type(values) not in (list, tuple):
        raise ValueError("an OrderedDict has no items")
    return OrderedDict((check_key(key), value) for key, value in values)


def _make_size(values: Any) -> Size:
    return Size(check_numbers(values, "size"))


def _make_device(kind: Any, index: Any = None) -> dc.Device:
    if type(kind) is not str or not (index is None or type(index) is int):
        raise ValueError("a device has no name")
    dc.Device.parse(kind)  # by itself, a device takes any text as its type
    return dc.Device(kind, index)


def read_checkpoint(source: Source, locate: Locator) -> Any:
    """Return the structure of a file that ``torch.save`` wrote; ``ValueError`` for anything but tensors and plain data."""
    try:
        return _CheckpointReader(Archive(source), locate).read()
    except Exception as error:  # noqa: BLE001  # whatever a wrong file leads to
        refuse(error, source.name, "cannot be read", locate.error)
