"""Layouts: tensors whose data is a record of ordinary tensors, such as the indices and the values of a sparse one.

Note [Tensors of a layout]
    A frontend's tensor of a layout (sparse, nested) has the layout key of its device in its mask, `SparseCPU` say, and as
    ``_dispatch_data`` a record: a dataclass whose fields are ordinary tensors of the frontend, and plain values. Kernels
    under layout keys see such tensors as the caller gave them, call operators on the components, and return tensors.
    Layers that work with arrays, `Pipeline` and `Tracer`, pass calls on whose mask has a layout key, and record the
    calls on the components. A layout whose components have the history lets further layers pass them on (``passed_by``).
    Captured functions take such a tensor for a container of its components.

    A backend's key tells the device of an array, so each device has a class of records of its own, made when the first
    of its tensors becomes a component. Nothing else of a device need know the layout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from ..errors import ArgumentError
from ..forks import Order, forkable
from ..keys.table import ARRAYS, LAYOUTS, DispatchKey, keys_of
from ..lazy_text import repr_by_attributes
from .access import device
from .owners import ARRAY_TYPES, KEY_TYPES, TYPE_MASKS, mask_of
from .types import Array, ArrayType, Dtype

_ARRAY_LAYERS: Final = DispatchKey.Pipeline | DispatchKey.Tracer
_PREFIXES: Final = ("Sparse", "SparseCsr", "Quantized", "NestedTensor")
_lock: Final = forkable(Order.TABLE)
#: class of records → the layout.
RECORDS: Final[dict[type, TensorLayout]] = {}
#: A layout key's prefix → the first layout that was made with it.
_known: Final[dict[str, TensorLayout]] = {}


class TensorLayout:
    """A layout of tensors: the key that its tensors have on each device, and the readers of its records.

    ``prefix`` is that of the layout keys ("Sparse", "SparseCsr", "Quantized" or "NestedTensor") and ``record`` a dataclass;
    ``shape``, ``dtype`` and ``strides`` read a record, whose field ``component`` is a tensor that lies where the whole
    does. ``hint`` ends the errors for operators without a kernel for the layout, and ``passed_by`` are the keys of further
    layers that see the calls on the components alone. Where the components have the history (``components_have_history``),
    kernels' results stay as they were made; else they are fresh tensors, whose history the Autograd kernel keeps. Raises
    ``ArgumentError`` for a prefix that no layout has, or a record that is not a dataclass.
    """

    __repr__ = repr_by_attributes("prefix", "record", "component")

    def __init__(
        self,
        prefix: str,
        record: type,
        *,
        component: str,
        shape: Callable[[Array], tuple[Any, ...]],
        dtype: Callable[[Array], Dtype],
        strides: Callable[[Array], tuple[Any, ...]] | None = None,
        hint: str = "",
        passed_by: int = 0,
        components_have_history: bool = False,
    ) -> None:
        if prefix not in _PREFIXES:
            raise ArgumentError(
                f"TensorLayout: {prefix!r} begins no layout key", hint=f"there are {', '.join(_PREFIXES)}"
            )
        from dataclasses import is_dataclass  # slow to import; programs of strided tensors need none of it

        if not isinstance(record, type) or not is_dataclass(record):
            raise ArgumentError(f"TensorLayout({prefix!r}): the record must be a dataclass, not {record!r}")
        self.prefix, self.record, self.component, self.hint = prefix, record, component, hint
        self.passed_by, self.components_have_history = passed_by | _ARRAY_LAYERS, components_have_history
        self._readers: dict[str, Any] = {"shape": shape, "dtype": dtype, "strides": strides}
        self._types: dict[DispatchKey, type] = {}
        #: The device keys of a component → the layout key.
        self._keys: dict[int, DispatchKey] = {}
        _known.setdefault(prefix, self)

    def key_for(self, component: object) -> DispatchKey:
        """Return the layout key of tensors with such a component; raises ``ArgumentError`` where there is none."""
        mask = mask_of(component) & ARRAYS
        if (known := self._keys.get(mask)) is not None:
            return known
        for key in keys_of(mask):
            if key.kind == "device" and key.backend:
                return self._keys.setdefault(mask, DispatchKey[self.prefix + key.backend])
        raise ArgumentError(
            f"TensorLayout({self.prefix!r}): {type(component).__qualname__} is not an array of a device with layout keys",
            hint="the components are ordinary tensors",
        )

    def make(self, **fields: object) -> Array:
        """Return a record of these components; the device of the first decides on its class."""
        key = self.key_for(fields[self.component])
        return (self._types.get(key) or self._make_type(key))(**fields)

    def key_of(self, record: object) -> int:
        """Return the layout key, as a mask, of tensors with this record."""
        return TYPE_MASKS[type(record)]

    def _make_type(self, key: DispatchKey) -> type:
        name = self.component

        def device_index(record: object) -> int | None:
            return device(getattr(record, name)).index

        with _lock:
            if (known := self._types.get(key)) is not None:
                return known
            made = type(self.record.__name__, (self.record,), {"__slots__": (), "__module__": self.record.__module__})
            array_type = ArrayType(made, device_index=device_index, **self._readers)
            RECORDS[made] = self
            ARRAY_TYPES[made] = array_type
            TYPE_MASKS[made] = key.value
            KEY_TYPES[key] = (*KEY_TYPES.get(key, ()), array_type)
            self._types[key] = made
        return made


def find_layout(value: object) -> TensorLayout | None:
    """Return the layout of a tensor or a record, or None for an ordinary tensor or array."""
    return RECORDS.get(type(value)) or RECORDS.get(type(getattr(value, "_dispatch_data", None)))


def components_of(value: object) -> list[Any]:
    """Return the tensors that a tensor of a layout, or its record, is made of; none for an ordinary tensor."""
    record = getattr(value, "_dispatch_data", value)
    if type(record) not in RECORDS:
        return []
    from dataclasses import fields

    found = [getattr(record, each.name) for each in fields(cast("Any", record))]
    return [each for each in found if hasattr(each, "_dispatch_data")]


def passing_layers(mask: int) -> int:
    """Return the keys of the layers that pass on a call with the layout keys of a mask; see Note [Tensors of a layout]."""
    found = _ARRAY_LAYERS
    for known in _layouts_in(mask):
        found |= known.passed_by
    return found


def have_history(mask: int) -> bool:
    """Return whether the components of tensors with a layout key of a mask have their history."""
    return any(known.components_have_history for known in _layouts_in(mask))


def _layouts_in(mask: int) -> list[TensorLayout]:
    names = [key.name.removesuffix(key.backend) for key in keys_of(mask & LAYOUTS)]
    return [_known[name] for name in names if name in _known]


def find_hint(key: DispatchKey) -> str:
    """Return the hint for calls that have no kernel under a layout key; "" where nothing has made the layout known."""
    # Those whose tensors have the key come first: a prefix may have several layouts, each on devices of its own.
    of_key = (RECORDS[each.type] for each in KEY_TYPES.get(key, ()) if each.type in RECORDS)
    known = next(of_key, _known.get(key.name.removesuffix(key.backend)))
    return "" if known is None else known.hint
