"""Dispatch keys: one bit each, ordered by rank, in a table that vendors can add to while the process runs.

A key's bit never changes and says nothing about its priority; the rank does, and is data (`_ORDERS`). So keys can be
added at run time anywhere in the order, and one process can hold any number of vendors.

Note [Alternatives]
    Another distribution may bring kernels for a device's arrays. Its key ranks directly above the device's, is in no
    tensor's mask, and is included by a context or by the process. It is passed over where it has no kernel, and in calls
    that are not for its device. Which of several stands above is the context's choice, and a rank never changes: so there
    is a key of the provider for each place above the device, and the first of them has the registrations.

Note [Keys of further layouts]
    torch has four layouts with keys on every backend. A layout with another prefix gets a key on each backend and an
    Autograd key of its own, which rank directly above those of nested tensors of that backend. Their bits lie above the
    rows, for a fixed number of layouts, so that the masks of classes of keys (all layouts, say) cover them from the
    beginning.

Bits 0 to 29 belong to the keys of everyday calls, because small integers are the fastest. Bits 30 to 63 belong to the
remaining functionality and alias keys. From bit 64 on every backend owns a row of eight bits (`_ROW`), so that a whole
class of keys (all Autograd keys, say) is one mask that also covers backends which register later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, count
from typing import TYPE_CHECKING, Final, overload

from ..errors import DispatchKeyError, RegistrationError, short_repr
from ..forks import Order, forkable

if TYPE_CHECKING:
    from .known_keys import KnownKeys  # made for type checkers alone
else:
    KnownKeys = object

#: Backends in torch's order, lowest priority first; vendors that register at run time rank between these and Meta.
_BACKENDS: Final = "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA NPU PrivateUse1 PrivateUse2 PrivateUse3".split()
#: The keys that every backend brings: the name's prefix and the bit's place in the backend's row.
_ROW: Final = {
    "": 0, "Quantized": 1, "Sparse": 2, "SparseCsr": 3, "NestedTensor": 4, "Autograd": 5, "Autocast": 6,
}  # fmt: skip
#: The prefixes of torch's layouts, whose keys are there from the beginning.
LAYOUT_PREFIXES: Final = ("Quantized", "Sparse", "SparseCsr", "NestedTensor")
#: The prefixes of a backend's name in those keys; the longest comes first.
BACKEND_PREFIXES: Final = tuple(sorted(filter(None, _ROW), key=len, reverse=True))
_MARKER_SLOT: Final = 7
_ROW_BITS: Final = 8
_FIRST_ROW: Final = 64
_MAX_BACKENDS: Final = 512
#: How many ranks there are from a backend's key to the next one's: those of its alternatives.
_RANKS_EACH: Final = 64
#: How many layouts may have keys of their own; see Note [Keys of further layouts].
_MAX_LAYOUTS: Final = 48
_FIRST_LAYOUT: Final = _FIRST_ROW + _MAX_BACKENDS * _ROW_BITS
#: The prefixes of their keys, by place.
_further_layouts: Final[list[str]] = []

_HOT: Final = (
    "CPU Meta NPU PrivateUse1 CUDA AutogradCPU AutogradMeta AutogradNPU AutogradPrivateUse1 AutogradCUDA"
    " BackendSelect Pipeline ADInplaceOrView Python Functionalize Tracer Profiler AutocastCPU AutocastNPU"
    " FuncTorchBatched Batched AutogradOther Autograd CompositeImplicitAutograd CompositeExplicitAutograd"
).split()
_HOT_MARKERS: Final = (25, 26, 27, 28, 29)

ALIASES: Final = (
    "CompositeImplicitAutograd", "CompositeImplicitAutogradNestedTensor", "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional", "FuncTorchBatchedDecomposition", "Autograd",
)  # fmt: skip

# The order of functionalities, lowest priority first; a star represents one key per backend.
_LOW = (
    "CompositeImplicitAutograd CompositeImplicitAutogradNestedTensor CompositeExplicitAutograd"
    " CompositeExplicitAutogradNonFunctional * FPGA Vulkan Metal Quantized* CustomRNGKeyId MkldnnCPU Sparse* SparseCsr*"
    " NestedTensor* Pipeline BackendSelect"
)
_HIGH = (
    " Conjugate Negative ZeroTensor ADInplaceOrView AutogradOther Autograd* AutogradNestedTensor Autograd Tracer Autocast*"
    " FuncTorchBatchedDecomposition FuncTorchBatched BatchedNestedTensor FuncTorchVmapMode Batched VmapMode Profiler"
    " FuncTorchGradWrapper DeferredInit PythonTLSSnapshot FuncTorchDynamicLayerFrontMode TESTING_ONLY_GenericWrapper"
    " TESTING_ONLY_GenericMode PreDispatch PythonDispatcher TorchFunction TorchFunctionMode"
)
_ORDERS: Final = {
    "torch-2.4": (f"{_LOW} Python Fake FuncTorchDynamicLayerBackMode Functionalize Named{_HIGH}").split(),
    "torch-2.13": (f"{_LOW} Fake Python FuncTorchDynamicLayerBackMode Functionalize Named{_HIGH}").split(),
}
#: The orders of keys that a registry can follow; the first is the default.
PROFILES: Final = tuple(_ORDERS)
_RANKS: Final = {profile: {name: rank for rank, name in enumerate(order)} for profile, order in _ORDERS.items()}


class _KeyTable(type):
    """Behave as an enum's class for ``DispatchKey``, while staying open for new keys."""

    _by_name: dict[str, DispatchKey]
    _by_bit: dict[int, DispatchKey]
    _ordered: tuple[DispatchKey, ...]

    def __getitem__(cls, name: str) -> DispatchKey:
        try:
            return cls._by_name[name]
        except (KeyError, TypeError):
            raise _unknown_name(name) from None

    if not TYPE_CHECKING:  # a key that is added at run time is ``DispatchKey["NAME"]``

        def __getattr__(cls, name: str) -> DispatchKey:
            if not name.startswith("_") and (key := cls._by_name.get(name)) is not None:
                return key
            raise AttributeError(str(_unknown_name(name)), name=name, obj=cls)

    def __iter__(cls) -> Iterator[DispatchKey]:
        return iter(cls._ordered)

    def __len__(cls) -> int:
        return len(cls._ordered)

    def __contains__(cls, key: object) -> bool:
        return isinstance(key, DispatchKey) or (isinstance(key, str) and key in cls._by_name)

    def __dir__(cls) -> list[str]:
        return sorted({*super().__dir__(), *cls._by_name})

    @property
    def __members__(cls) -> dict[str, DispatchKey]:
        return {key.name: key for key in cls._ordered}


class DispatchKey(int, KnownKeys, metaclass=_KeyTable):
    """A dispatch key: an integer with one bit set, found by name, value or attribute.

    The names are torch's (source: ``c10::DispatchKey``), with ``NPU``, ``Pipeline``, ``Profiler``, ``TorchFunction`` and
    ``TorchFunctionMode`` added. Or-ing keys
    gives a plain mask. Raises ``DispatchKeyError`` for an unknown name or value.

    >>> DispatchKey.CPU is DispatchKey["CPU"] is DispatchKey(DispatchKey.CPU.value)
    True
    >>> bin(DispatchKey.CPU | DispatchKey.Meta)
    '0b11'
    """

    name: str
    value: int
    bit: int
    #: One of "device" (dense), "layout" (quantized, sparse, nested), "autograd", "autocast", "functionality", "alias",
    #: "alternative".
    kind: str
    #: The backend that a per-backend key belongs to ("CPU" for AutogradCPU), or "".
    backend: str
    #: The prefix of the layout that a layout's or its Autograd key belongs to ("Sparse" for SparseCPU), or "".
    layout: str
    #: For the arrays of which device's key an alternative has kernels; None for other keys. See Note [Alternatives].
    target: DispatchKey | None
    #: The key that its kernels are registered under: itself, but for the further places of an alternative.
    registered_as: DispatchKey
    _ranks: dict[str, int]

    def __new__(cls, value: int | str) -> DispatchKey:  # noqa: D102, PYI034  # a key is found, not made
        if isinstance(value, str):
            return cls[value]
        if isinstance(value, int) and value > 0 and value & (value - 1) == 0:
            found = cls._by_bit.get(value.bit_length() - 1)
            if found is not None:
                return found
        raise DispatchKeyError(
            f"{short_repr(value)} is not the value of a dispatch key",
            hint=hint_at_key(value) or "a key's value has one bit set; DispatchKeySet.from_mask takes any mask",
        )

    @property
    def label(self) -> str:
        """Return the name as people should read it: a PrivateUse key that a device has claimed names that device.

        >>> DispatchKey.AutogradCPU.label
        'AutogradCPU'
        """
        claimant = _claimants.get(self.backend)
        return self.name if claimant is None else f"{self.name} ({claimant})"

    @property
    def is_unclaimed(self) -> bool:
        """Return whether the key belongs to a PrivateUse backend that no device has claimed."""
        return self.backend in PRIVATE and self.backend not in _claimants

    @property
    def rank(self) -> int:
        """Return the place in the default order; higher runs first."""
        return self._ranks[PROFILES[0]]

    def rank_in(self, profile: str) -> int:
        """Return the place in the order of ``profile`` (one of ``PROFILES``).

        >>> DispatchKey.Python.rank_in("torch-2.13") > DispatchKey.Fake.rank_in("torch-2.13")
        True
        """
        return self._ranks[profile]

    @property
    def is_alias(self) -> bool:
        """Return whether the key represents several runtime keys."""
        return self.kind == "alias"

    @property
    def owns_arrays(self) -> bool:
        """Return whether the key says where a tensor's elements are and how they lie (device and layout keys)."""
        return self.kind in ("device", "layout")

    @classmethod
    def register_backend(cls, name: str) -> DispatchKey:
        """Add the backend key ``name`` and the Autograd, Sparse, Quantized, Nested and Autocast keys that go with it.

        Asking again for a name gives the same key. Raises ``RegistrationError`` for a name that is not an identifier or
        that a key of another sort has.

        >>> key = DispatchKey.register_backend("Acme")
        >>> DispatchKey["AutogradAcme"].backend
        'Acme'
        """
        with _lock:
            known = cls._by_name.get(name)
            if known is not None and known.kind == "device" and known.backend == name:
                return known
            taken = next((each + name for each in (*_ROW, *_further_layouts) if each + name in cls._by_name), "")
            if taken or not name.isidentifier():
                reason = f": there is a key {taken}" if taken else ""
                raise RegistrationError(
                    f"{name!r} cannot become a backend's dispatch key{reason}",
                    hint="a backend's key is a Python identifier that no other key uses",
                )
            _add_backend(name)
            _sort()
            return cls._by_name[name]

    @classmethod
    def register_layout(cls, prefix: str) -> DispatchKey:
        """Add the keys of a layout of tensors, one on each backend, and return its Autograd key.

        Asking again for a prefix gives the same key. Raises ``RegistrationError`` for a prefix that is no identifier or
        makes a name that a key has, and where there is no room. See Note [Keys of further layouts].

        >>> DispatchKey.register_layout("Placed").name
        'AutogradPlaced'
        >>> key = DispatchKey["PlacedCPU"]
        >>> key.kind, key.layout, DispatchKey.NestedTensorCPU.rank < key.rank < DispatchKey.Pipeline.rank
        ('layout', 'Placed', True)
        """
        with _lock:
            autograd = f"Autograd{prefix}"
            if prefix in _further_layouts:
                return cls._by_name[autograd]
            names = [autograd, *(prefix + backend for backend in _backends)]
            taken = next((name for name in names if name in cls._by_name), "")
            slot = len(_further_layouts)
            reason = f": there is a key {taken}" if taken else ""
            if slot == _MAX_LAYOUTS:
                reason = f": {slot} layouts have keys, among them {', '.join(_further_layouts[:4])}"
            if reason or not prefix.isidentifier():
                raise RegistrationError(
                    f"{prefix!r} cannot become the prefix of a layout's dispatch keys{reason}",
                    hint="the prefix is a Python identifier, and no key has its name with a backend's behind it",
                )
            _further_layouts.append(prefix)
            ranks = {
                profile: rank["AutogradNestedTensor"] * 1024 * _RANKS_EACH + slot + 1
                for profile, rank in _RANKS.items()
            }
            _add(autograd, _FIRST_LAYOUT + slot, "autograd", "", ranks, prefix)
            for index, backend in enumerate(_backends):
                _add_layout_key(slot, index, backend)
            _sort()
            return cls._by_name[autograd]

    def __repr__(self) -> str:
        return f"<DispatchKey.{self.name}: 1 << {self.bit}>"

    def __str__(self) -> str:
        return self.label

    def __format__(self, spec: str) -> str:
        return format(self.label, spec)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return DispatchKey, (self.name,)


class _Priority(Sequence[DispatchKey]):
    """Every key, highest priority first, as the key table stands now."""

    @overload
    def __getitem__(self, index: int) -> DispatchKey: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[DispatchKey]: ...
    def __getitem__(self, index: int | slice) -> DispatchKey | Sequence[DispatchKey]:
        return DispatchKey._ordered[index]

    def __len__(self) -> int:
        return len(DispatchKey._ordered)

    def __repr__(self) -> str:
        return f"DISPATCH_KEY_PRIORITY({', '.join(key.label for key in self)})"


DISPATCH_KEY_PRIORITY: Final[Sequence[DispatchKey]] = _Priority()

#: The backends whose keys wait for a vendor, which claims one by name.
PRIVATE: Final = frozenset({"PrivateUse1", "PrivateUse2", "PrivateUse3"})
#: PrivateUse backend → the device that has claimed it, for display; `arrays` keeps the books.
_claimants: dict[str, str] = {}
_lock = forkable(Order.TABLE)
#: The backends, in the order of their rows.
_backends: Final[list[str]] = []
DispatchKey._by_name = {}
DispatchKey._by_bit = {}
DispatchKey._ordered = ()


def _unknown_name(name: object) -> DispatchKeyError:
    import difflib

    spelled = {each.lower(): each for each in DispatchKey._by_name}
    near = [spelled[each] for each in difflib.get_close_matches(str(name).lower(), list(spelled), n=3)]
    hint = f"did you mean {' or '.join(near)}?" if near else "DISPATCH_KEY_PRIORITY lists the keys"
    return DispatchKeyError(f"no dispatch key is named {name!r}", hint=hint_at_key(name) or hint)


def hint_at_key(value: object) -> str | None:
    """Return a hint for an object whose key was meant, as the handle of a backend's, or None."""
    key: object = getattr(value, "key", None)
    return (
        f"did you mean its key, {type(value).__name__}.key? It is {key.label}" if isinstance(key, DispatchKey) else None
    )


def _add(name: str, bit: int, kind: str, backend: str, ranks: dict[str, int], layout: str = "") -> None:
    key = int.__new__(DispatchKey, 1 << bit)
    key.name, key.value, key.bit, key.kind, key.backend, key._ranks = name, 1 << bit, bit, kind, backend, ranks
    key.layout = layout
    key.target, key.registered_as = None, key
    DispatchKey._by_name[name] = DispatchKey._by_bit[bit] = key
    if not hasattr(_KeyTable, name):
        # As an attribute of the metaclass, so that keys themselves have none such; __getattr__ would serve, but slowly.
        setattr(_KeyTable, name, key)


def _add_backend(name: str) -> None:
    """Add a backend's row of keys; Meta outranks every other backend, as in torch."""
    index = len(_backends)
    if index == _MAX_BACKENDS:
        raise RegistrationError(f"no room for backend {name!r}: {_MAX_BACKENDS} backends are registered")
    _backends.append(name)
    place = _MAX_BACKENDS if name == "Meta" else index
    kinds = {"": "device", "Autograd": "autograd", "Autocast": "autocast"}
    for prefix, slot in _ROW.items():
        full = prefix + name
        bit = _HOT.index(full) if full in _HOT else _FIRST_ROW + index * _ROW_BITS + slot
        ranks = {profile: (rank[f"{prefix}*"] * 1024 + place) * _RANKS_EACH for profile, rank in _RANKS.items()}
        kind = kinds.get(prefix, "layout")
        _add(full, bit, kind, name, ranks, prefix if kind == "layout" else "")
    for slot in range(len(_further_layouts)):
        _add_layout_key(slot, index, name)


def _add_layout_key(slot: int, index: int, backend: str) -> None:
    """Add the key of a further layout on a backend, directly above that of its nested tensors."""
    prefix, below = _further_layouts[slot], DispatchKey._by_name[f"NestedTensor{backend}"]
    ranks = {profile: rank + slot + 1 for profile, rank in below._ranks.items()}
    _add(prefix + backend, _FIRST_LAYOUT + (index + 1) * _MAX_LAYOUTS + slot, "layout", backend, ranks, prefix)


def _sort() -> None:
    DispatchKey._ordered = tuple(sorted(DispatchKey._by_name.values(), key=lambda key: -key.rank))


def _fill() -> None:
    cold = iter(range(30, _FIRST_ROW))
    #: torch's own backends that are single keys rather than a row.
    lone_devices = ("FPGA", "Vulkan", "Metal", "CustomRNGKeyId", "MkldnnCPU")
    for name in dict.fromkeys(name for order in _ORDERS.values() for name in order):
        if name.endswith("*"):
            continue
        bit = _HOT.index(name) if name in _HOT else next(cold)
        kind = (
            "alias" if name in ALIASES
            else "device" if name in lone_devices
            else "autograd" if name.startswith("Autograd")
            else "functionality"
        )  # fmt: skip
        ranks = {profile: rank[name] * 1024 * _RANKS_EACH for profile, rank in _RANKS.items()}
        _add(name, bit, kind, "", ranks, "NestedTensor" if name == "AutogradNestedTensor" else "")
    for name in [*_BACKENDS, "Meta"]:
        _add_backend(name)
    _sort()


_fill()


#: The bits that are left below the rows, and those above all others.
_spare_bits: Final = chain(
    [bit for bit in range(30, _FIRST_ROW) if bit not in DispatchKey._by_bit],
    count(_FIRST_LAYOUT + (_MAX_BACKENDS + 1) * _MAX_LAYOUTS),
)
#: The mask of all keys of alternatives.
alternatives: Final = [0]


def alternative_key(provider: str, target: DispatchKey, place: int = 0) -> DispatchKey:
    """Return the key of a provider of kernels for a device's arrays, ``place`` above the lowest; see Note [Alternatives].

    Raises ``RegistrationError`` for a key that is no device's, and where there is no room.

    >>> key = alternative_key("swift", DispatchKey.CPU)
    >>> key.name, key.target, DispatchKey.CPU.rank < key.rank < DispatchKey.CUDA.rank
    ('CPU_swift', <DispatchKey.CPU: 1 << 0>, True)
    """
    name = f"{target.name}_{provider}" + f"_{place + 1}" * bool(place)
    first = None if place == 0 else alternative_key(provider, target)
    with _lock:
        known = DispatchKey._by_name.get(name)
        if known is not None and known.target is target:
            return known
        if known is not None or target.kind != "device" or not target.backend or not 0 <= place < _RANKS_EACH - 1:
            raise RegistrationError(
                f"there can be no key {name} for alternatives {place + 1} above {target.label}",
                hint=f"a device's key has up to {_RANKS_EACH - 1} alternatives, with names of their own",
            )
        ranks = {profile: rank + place + 1 for profile, rank in target._ranks.items()}
        _add(name, next(_spare_bits), "alternative", "", ranks)
        key = DispatchKey._by_name[name]
        key.target, key.registered_as = target, first or key
        alternatives[0] |= key.value
        _sort()
        return key


def show_claim(key: DispatchKey, device: str | None) -> None:
    """Name a PrivateUse backend's keys by the device that has claimed it; None takes that back."""
    if device is None:
        _claimants.pop(key.backend, None)
    elif key.backend in PRIVATE:
        _claimants[key.backend] = device


#: The first bit of every backend's row: a repunit in base ``1 << _ROW_BITS``.
_EVERY_ROW: Final = ((1 << _MAX_BACKENDS * _ROW_BITS) - 1) // ((1 << _ROW_BITS) - 1) << _FIRST_ROW


def _class_mask(prefix: str, names: Iterable[str] = ()) -> int:
    """Return the mask of one sort of per-backend keys, those of backends yet to come included."""
    mask = _EVERY_ROW << _ROW[prefix]
    for name in [*(prefix + backend for backend in [*_BACKENDS, "Meta"]), *names]:
        mask |= DispatchKey._by_name[name].value
    return mask


#: Classes of keys as masks, with bits for backends that register later.
DENSE: Final = _class_mask("", ("FPGA", "Vulkan", "Metal", "MkldnnCPU", "CustomRNGKeyId"))
LAYOUTS: Final = sum(map(_class_mask, LAYOUT_PREFIXES)) | ((1 << _MAX_BACKENDS * _MAX_LAYOUTS) - 1) << (
    _FIRST_LAYOUT + _MAX_LAYOUTS
)
ARRAYS: Final = DENSE | LAYOUTS


@cache
def backend_arrays(name: str) -> int:
    """Return the mask of the keys that arrays of a backend have in any layout, those of layouts yet to come included.

    >>> backend_arrays("CPU") & DispatchKey.SparseCPU == DispatchKey.SparseCPU, backend_arrays("CPU") & DispatchKey.Meta
    (True, 0)
    """
    mask = (1 << _MAX_LAYOUTS) - 1 << _FIRST_LAYOUT + (_backends.index(name) + 1) * _MAX_LAYOUTS
    for prefix in ("", *LAYOUT_PREFIXES):
        mask |= DispatchKey._by_name[prefix + name].value
    return mask


AUTOGRAD: Final = (
    _class_mask("Autograd", ("AutogradOther", "AutogradNestedTensor", "Autograd"))
    | ((1 << _MAX_LAYOUTS) - 1) << _FIRST_LAYOUT
)
AUTOCAST: Final = _class_mask("Autocast")

#: The bits that frontends own; they are no keys, and never show in a keyset.
MARKER_BITS: Final = (*_HOT_MARKERS, *(_FIRST_ROW + row * _ROW_BITS + _MARKER_SLOT for row in range(_MAX_BACKENDS)))
MARKERS: Final = sum(1 << bit for bit in _HOT_MARKERS) | _EVERY_ROW << _MARKER_SLOT


def keys_of(mask: int, profile: str = PROFILES[0]) -> list[DispatchKey]:
    """Return the keys in ``mask``, highest priority first, frontends' marker bits left out.

    Raises ``DispatchKeyError`` naming the first bit that no key owns.

    >>> [key.name for key in keys_of(DispatchKey.CPU | DispatchKey.AutogradCPU)]
    ['AutogradCPU', 'CPU']
    """
    mask &= ~MARKERS if mask >= 0 else mask
    by_bit = DispatchKey._by_bit
    found = []
    while mask:
        bit = (mask & -mask).bit_length() - 1
        key = by_bit.get(bit)
        if key is None:
            raise DispatchKeyError(
                f"bit {bit} belongs to no dispatch key", hint="build keysets from DispatchKey members or from keysets"
            )
        found.append(key)
        mask ^= key.value
    found.sort(key=lambda key: -key._ranks[profile])
    return found
