"""Layouts: tensors whose data is a record of ordinary tensors, such as the indices and the values of a sparse one.

Note [Tensors of a layout]
    A frontend's tensor of a layout (sparse, nested) has the layout key of its device in its mask, `SparseCPU` say, and as
    ``_dispatch_data`` a record: a dataclass whose fields are ordinary tensors of the frontend, and plain values. Kernels
    under layout keys see such tensors as the caller gave them, call operators on the components, and return tensors.
    Layers that work with arrays, `Pipeline` and `Tracer`, pass calls on whose mask has a layout key, and record the
    calls on the components. A layout whose components have the history lets further layers pass them on (``passed_by``),
    and where it has keys of its own all Autograd keys but its own. Captured functions take such a tensor for a container of
    its components.

    A backend's key tells the device of an array, so each device has a class of records of its own, made when the first
    of its tensors becomes a component. Nothing else of a device need know the layout.

Note [Keys of a layout]
    A layout has keys for itself alone, so a kernel under one never meets another layout's record as the first of its call.
    The first layout of one of torch's prefixes has torch's keys, "QuantizedCPU". A prefix of its own gives a layout keys of
    its own; and a further layout of a prefix has keys with its record's name, "Quantized_TernaryCPU". Tensors of two layouts
    of one prefix do not meet in a call.

Note [The order of a layout's kernels]
    A kernel under a layout's key comes first, then the fallback under the key, then composites: torch takes an operator
    apart before a fallback sees it, and would give a layout that stores numbers its own way nothing but parts. A layout
    names the operators of which it wants the parts (``composes``). An Autograd key of a call with a history takes implicit
    composites apart before, as they have no formula, unless the components have the history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, TypeVar

from ..bookkeeping.changes import notify_change
from ..bookkeeping.transactions import run_outside
from ..errors import ArgumentError, NoKernelError, RegistrationError
from ..forks import Order, forkable
from ..keys.table import ARRAYS, AUTOGRAD, LAYOUT_PREFIXES, LAYOUTS, DispatchKey, keys_of
from ..lazy_text import repr_by_attributes
from .access import device
from .owners import ARRAY_TYPES, KEY_TYPES, TYPE_MASKS, device_key, mask_of
from .types import Array, ArrayType, Dtype

_ARRAY_LAYERS: Final = DispatchKey.Pipeline | DispatchKey.Tracer
_lock: Final = forkable(Order.TABLE)
#: Held while a device's first record of a layout is made, and kernels are registered for it.
_registering: Final = forkable(Order.LOADING)
#: class of records → the layout.
RECORDS: Final[dict[type, TensorLayout]] = {}
#: The dataclass of a layout's records → the layout.
_of_record: Final[dict[type, TensorLayout]] = {}
#: The prefix of a layout's keys → the layout.
_known: Final[dict[str, TensorLayout]] = {}
_Register = TypeVar("_Register", bound=Callable[[DispatchKey], object])


class TensorLayout:
    """A layout of tensors: the key that its tensors have on each device, and the readers of its records.

    ``prefix`` begins the layout's keys: one of torch's ("Sparse", "SparseCsr", "Quantized", "NestedTensor") or a name of its
    own; see Note [Keys of a layout]. ``record`` is a dataclass; ``shape``, ``dtype`` and ``strides`` read a record, whose
    field ``component`` is a tensor that lies where the whole does. ``hint`` ends the errors for operators without a kernel
    for the layout. ``composes`` names the operators, with an overload or without ("aten::linear"), that are taken apart
    before the layout's fallback would have them. ``passed_by`` are the keys of further layers that see the calls on the
    components alone. Where the components have the history (``components_have_history``), kernels' results stay as they were
    made; else they are fresh tensors, whose history the Autograd kernel keeps. Raises ``ArgumentError`` for a record that is
    not a dataclass, or has no such component, ``RegistrationError`` for a prefix that cannot begin keys.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Repeated:
    ...     value: object
    ...     times: int
    >>> layout = TensorLayout("Repeated", Repeated, component="value", shape=lambda record: (record.times,), dtype=len)
    >>> layout.keys_prefix, DispatchKey["RepeatedCPU"].kind, layout.autograd_key.name
    ('Repeated', 'layout', 'AutogradRepeated')
    """

    __repr__ = repr_by_attributes("keys_prefix", "record", "component")

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
        composes: Iterable[str] = (),
        passed_by: int = 0,
        components_have_history: bool = False,
    ) -> None:
        from dataclasses import is_dataclass  # slow to import; programs of strided tensors need none of it

        if not isinstance(record, type) or not is_dataclass(record):
            raise ArgumentError(f"TensorLayout({prefix!r}): the record must be a dataclass, not {record!r}")
        if component not in field_names(record):
            raise ArgumentError(
                f"TensorLayout({prefix!r}): records of {record.__qualname__} have no field {component!r}"
            )
        self.prefix, self.record, self.component, self.hint = prefix, record, component, hint
        self.components_have_history = components_have_history
        self._composes = frozenset([composes] if isinstance(composes, str) else composes)
        if short := [each for each in self._composes if "::" not in each]:
            raise ArgumentError(
                f"TensorLayout({prefix!r}): composes has {short[0]!r}, which is no operator's full name",
                hint=f"as in 'aten::{short[0]}'",
            )
        if record in _of_record:
            raise RegistrationError(
                f"TensorLayout({prefix!r}): {record.__qualname__} is the record of {_of_record[record]!r}",
                hint="each layout has a dataclass of its own: one that inherits another's, say",
            )
        self._readers: dict[str, Any] = {"shape": shape, "dtype": dtype, "strides": strides}
        self._types: dict[DispatchKey, type] = {}
        #: The device keys of a component → the layout key.
        self._keys: dict[int, DispatchKey] = {}
        self._registrars: list[Callable[[DispatchKey], object]] = []
        with _lock:
            #: The prefix that the layout's own keys have.
            self.keys_prefix = self._find_prefix()
            is_torchs = self.keys_prefix in LAYOUT_PREFIXES
            if not is_torchs:
                DispatchKey.register_layout(self.keys_prefix)
            _known[self.keys_prefix] = _of_record[record] = self
        #: The Autograd key of the layout's tensors; None where they have that of their device, as sparse ones.
        self.autograd_key = DispatchKey.__members__.get(f"Autograd{self.keys_prefix}")
        self.passed_by = passed_by | _ARRAY_LAYERS
        if components_have_history and not is_torchs:
            assert self.autograd_key is not None  # it was registered with the layout's keys
            self.passed_by |= AUTOGRAD & ~self.autograd_key.value
        notify_change()  # slots of keys that no layout had

    def _find_prefix(self) -> str:
        name = self.record.__name__
        names = [self.prefix, f"{self.prefix}_{name}", *(f"{self.prefix}_{name}{count}" for count in range(2, 100))]
        return next(each for each in names if each not in _known)

    def key_for(self, component: object) -> DispatchKey:
        """Return the layout key of tensors with such a component; raises ``ArgumentError`` where there is none."""
        mask = mask_of(component) & ARRAYS
        if (known := self._keys.get(mask)) is not None:
            return known
        for key in keys_of(mask):
            if key.kind == "device" and key.backend:
                return self._keys.setdefault(mask, DispatchKey[self.keys_prefix + key.backend])
        inner = find_layout(component)
        what = (
            type(component).__qualname__ if inner is None else f"a tensor with the record {inner.record.__qualname__}"
        )
        raise ArgumentError(
            f"TensorLayout({self.prefix!r}): {what} is not an array of a device with layout keys",
            hint="the components are ordinary tensors",
        )

    def key_on(self, device: str) -> DispatchKey:
        """Return the layout key of tensors on a device, which is loaded; raises ``BackendError`` where there is none."""
        return DispatchKey[self.keys_prefix + device_key(device).backend]

    def for_each_key(self, register: _Register) -> _Register:
        """Call ``register(key)`` once for the layout key of each device, before the first of its tensors is there.

        ``register`` is returned, so that this serves as a decorator. What it registers stays, whatever is loading meanwhile.
        """
        with _registering:
            self._registrars.append(register)
            for key in self._types:
                run_outside(partial(register, key))
        return register

    def wants_parts(self, name: str) -> bool:
        """Return whether the layout's fallback leaves an operator to its composite; see ``composes``."""
        return name in self._composes or name.partition(".")[0] in self._composes

    def make(self, **fields: object) -> Array:
        """Return a record of these components; the device of the first decides on its class."""
        if self.component not in fields:
            raise ArgumentError(
                f"TensorLayout({self.prefix!r}): make() takes the field {self.component!r}, the component"
            )
        key = self.key_for(fields[self.component])
        return (self._types.get(key) or self._make_type(key))(**fields)

    def fields_of(self, record: Any) -> dict[str, Any]:
        """Return the fields of a record by name, in order."""
        return {name: getattr(record, name) for name in field_names(self.record)}

    def replace(self, record: Any, **changes: object) -> Array:
        """Return a record with other values of some fields; the device of its component decides on its class.

        Raises ``ArgumentError`` for a field that is not there.
        """
        if unknown := sorted({*changes} - {*field_names(self.record)}):
            raise ArgumentError(
                f"{self.record.__qualname__} has no field {unknown[0]!r}",
                hint=f"it has {', '.join(field_names(self.record))}",
            )
        return self.make(**self.fields_of(record) | changes)

    def map_components(self, function: Callable[[Any], Any], record: Any) -> Array:
        """Return a record with the results of ``function`` for its components, all other fields as they are."""
        fields = self.fields_of(record).items()
        return self.replace(
            record, **{name: function(each) for name, each in fields if hasattr(each, "_dispatch_data")}
        )

    def key_of(self, record: object) -> int:
        """Return the layout key, as a mask, of tensors with this record."""
        return TYPE_MASKS[type(record)]

    def _make_type(self, key: DispatchKey) -> type:
        name = self.component

        def device_index(record: object) -> int | None:
            return device(getattr(record, name)).index

        with _registering:
            if (known := self._types.get(key)) is not None:
                return known
            for register in self._registrars:
                run_outside(partial(register, key))
            # What code of frontends reads of any data.
            answers = {
                name: property(self._readers[name]) for name in ("shape", "dtype") if not hasattr(self.record, name)
            }
            answers = {name: each for name, each in answers.items() if name not in field_names(self.record)}
            names = {"__slots__": (), "__module__": self.record.__module__, **answers}
            made = type(self.record.__name__, (self.record,), names)
            array_type = ArrayType(made, device_index=device_index, **self._readers)
            with _lock:
                RECORDS[made] = self
                ARRAY_TYPES[made] = array_type
                TYPE_MASKS[made] = key.value
                KEY_TYPES[key] = (*KEY_TYPES.get(key, ()), array_type)
                self._types[key] = made
        return made


def field_names(record: type) -> list[str]:
    """Return the names of a record's fields, in order."""
    from dataclasses import fields

    return [each.name for each in fields(record)]


def find_layout(value: object) -> TensorLayout | None:
    """Return the layout of a tensor, a record, a dataclass of records or its full name; None for an ordinary tensor."""
    if isinstance(value, type):
        return _of_record.get(value)
    if isinstance(value, str):
        names = {f"{each.__module__}.{each.__qualname__}": layout for each, layout in [*_of_record.items()]}
        return names.get(value)
    return RECORDS.get(type(value)) or RECORDS.get(type(getattr(value, "_dispatch_data", None)))


def components_of(value: object) -> list[Any]:
    """Return the tensors that a tensor of a layout, or its record, is made of; none for an ordinary tensor."""
    record = getattr(value, "_dispatch_data", value)
    if (layout := RECORDS.get(type(record))) is None:
        return []
    return [each for each in layout.fields_of(record).values() if hasattr(each, "_dispatch_data")]


def layout_of_key(key: DispatchKey) -> TensorLayout | None:
    """Return the layout whose tensors have a layout key; None where nothing has made it known."""
    return _known.get(key.layout)


def passing_layers(mask: int, *, is_process: bool = True) -> int:
    """Return the keys of the layers that pass on a call with the layout keys of a mask; see Note [Tensors of a layout].

    Layouts are the process's: other registries than its have torch's rules for torch's keys.
    """
    found = _ARRAY_LAYERS
    for known in _layouts_in(mask) if is_process else ():
        found |= known.passed_by
    return found


def have_history(mask: int) -> bool:
    """Return whether the components of tensors with a layout key of a mask have their history."""
    return any(known.components_have_history for known in _layouts_in(mask))


def check_layouts(name: str, mask: int) -> None:
    """Raise ``NoKernelError`` for a call of an operator whose tensors are of two layouts with one prefix."""
    found: dict[str, TensorLayout] = {}
    for each in _layouts_in(mask):
        other = found.setdefault(each.prefix, each)
        if other is not each:
            one, two = (f"{kind.record.__module__}.{kind.record.__qualname__}" for kind in (other, each))
            raise NoKernelError(
                f"{name}: tensors of two {each.prefix} layouts stand in one call, with records {one} and {two}",
                hint="no kernel knows both; convert the tensors to one layout first",
            )


def _layouts_in(mask: int) -> list[TensorLayout]:
    found = [layout_of_key(key) for key in keys_of(mask & LAYOUTS)]
    return [*dict.fromkeys(each for each in found if each is not None)]


def find_hint(key: DispatchKey) -> str:
    """Return the hint for calls that have no kernel under a layout key; "" where nothing has made the layout known."""
    known = layout_of_key(key)
    return "" if known is None else known.hint
