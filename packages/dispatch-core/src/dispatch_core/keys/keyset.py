"""Immutable sets of dispatch keys, backed by one integer mask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from ..caches import keep
from ..errors import ArgumentError, DispatchKeyError
from ..tracebacks import trim_traceback
from . import table as _keys
from .table import ARRAYS, MARKERS, DispatchKey, keys_of

#: How the device keys of a tensor are found; `arrays`, a higher package, fills it in.
mask_readers: list[Callable[[object], int]] = []
KeyLike: TypeAlias = "DispatchKey | str"
KeysetLike: TypeAlias = "DispatchKeySet | DispatchKey | str | int | Iterable[DispatchKey | str]"


def as_key(key: KeyLike | int) -> DispatchKey:
    """Return the key for a member, a name or a value.

    Raises ``DispatchKeyError`` when there is no such key.

    >>> as_key("CPU").name
    'CPU'
    """
    if isinstance(key, DispatchKey):
        return key
    if isinstance(key, str):
        return DispatchKey[key]
    return DispatchKey(key)


def as_mask(keys: KeysetLike) -> int:
    """Return the mask for a keyset, a plain mask, a key, a name, or an iterable of keys and names.

    Raises ``DispatchKeyError`` for a bit that no key owns, ``ArgumentError`` for anything else.

    >>> as_mask(["CPU", DispatchKey.Meta]) == DispatchKey.CPU | DispatchKey.Meta
    True
    """
    if isinstance(keys, DispatchKey):
        return keys.value
    if isinstance(keys, DispatchKeySet):
        return keys.mask | keys.marker
    if isinstance(keys, str):
        return DispatchKey[keys].value
    if isinstance(keys, int) and not isinstance(keys, bool):
        if keys < 0:
            raise DispatchKeyError(
                f"{keys} is not a mask: it is negative", hint="use DispatchKeySet.without to remove keys"
            )
        keys_of(keys)
        return keys
    try:
        mask = 0
        for key in keys:  # type: ignore[union-attr]  # anything else raises the TypeError handled below
            mask |= as_key(key).value
    except TypeError:
        raise ArgumentError(
            f"expected a keyset, a mask, a key or an iterable of keys, not {type(keys).__name__}",
            hint=_keys.hint_at_key(keys),
        ) from None
    return mask


_AUTOGRAD_ALIAS = DispatchKey.Autograd.value
#: The keys that a removed or tested alias key stands for, besides itself.
_MEMBERS = {"Autograd": _keys.AUTOGRAD}


def members_mask(key: DispatchKey) -> int:
    """Return the mask of everything that ``key`` stands for: itself, and for Autograd every Autograd key."""
    return _MEMBERS.get(key.name, key.value)


def has_several_devices(mask: int) -> bool:
    """Return whether a mask has the keys of more than one device."""
    return len({key.backend or key.name for key in keys_of(mask & ARRAYS)}) > 1


class DispatchKeySet:
    """An immutable, hashable set of dispatch keys (source: ``c10::DispatchKeySet``).

    Unlike torch's, every key has a bit of its own: removing ``CPU`` leaves ``Meta`` alone.

    >>> ks = DispatchKeySet([DispatchKey.CPU, DispatchKey.AutogradCPU])
    >>> ks
    DispatchKeySet(AutogradCPU, CPU)
    >>> ks.highest(), DispatchKey.Autograd in ks, len(ks - DispatchKey.AutogradCPU)
    (<DispatchKey.AutogradCPU: 1 << 5>, True, 1)
    """

    __slots__ = ("marker", "mask")
    mask: int
    #: The bits of the frontend whose tensors are in the call; no keys, so no part of equality or iteration.
    marker: int

    def __init__(self, keys: KeysetLike = 0) -> None:
        try:
            mask = as_mask(keys)
        except Exception as error:
            trim_traceback(error)
            raise
        object.__setattr__(self, "mask", mask & ~MARKERS)
        object.__setattr__(self, "marker", mask & MARKERS)

    @classmethod
    def from_mask(cls, mask: int) -> DispatchKeySet:
        """Return the set of the keys in ``mask``; raises ``DispatchKeyError`` for a bit that no key owns."""
        return cls(mask)

    @classmethod
    def empty(cls) -> DispatchKeySet:
        """Return the set without keys."""
        return cls()

    @classmethod
    def all(cls) -> DispatchKeySet:
        """Return the set of every key that is registered now."""
        return cls.from_mask(sum(DispatchKey))

    @classmethod
    def from_tensors(
        cls, tensors: Iterable[object], *, grad_enabled: bool = False, pipeline_enabled: bool = False
    ) -> DispatchKeySet:
        """Return the keys that a call on ``tensors`` starts with.

        Their device keys; with ``grad_enabled`` and an input that requires grad, the Autograd keys of their backends;
        with ``pipeline_enabled`` and a device other than meta, Pipeline. ``None`` entries are skipped.
        Raises ``ArgumentError`` for any other object.
        """
        (device_mask_of,) = mask_readers
        found = [tensor for tensor in tensors if tensor is not None]
        mask = 0
        for tensor in found:
            mask |= device_mask_of(tensor)
        devices = [key for key in keys_of(mask) if key.backend]
        if grad_enabled and any(bool(getattr(tensor, "requires_grad", False)) for tensor in found):
            for key in devices:
                mask |= DispatchKey[f"Autograd{key.backend}"]
        if pipeline_enabled and any(key.backend != "Meta" for key in devices):
            mask |= DispatchKey.Pipeline
        return cls(mask)

    def has(self, key: KeyLike) -> bool:
        """Return whether ``key`` is in the set; an alias is when any of its members is."""
        return self.mask & members_mask(as_key(key)) != 0

    __contains__ = has

    def add(self, key: KeyLike) -> DispatchKeySet:
        """Return the set with ``key``."""
        return self | as_key(key)

    def remove(self, key: KeyLike) -> DispatchKeySet:
        """Return the set without ``key`` (an alias takes its members along); it need not be in it."""
        return self - as_key(key)

    def without(self, keys: KeysetLike) -> DispatchKeySet:
        """Return the set without ``keys``."""
        return self - keys

    def union(self, keys: KeysetLike) -> DispatchKeySet:
        """Return the keys in either set."""
        return self | keys

    def intersection(self, keys: KeysetLike) -> DispatchKeySet:
        """Return the keys in both sets."""
        return self & keys

    def highest(self) -> DispatchKey | None:
        """Return the key of the highest priority, or None for the empty set."""
        return next(self.iter_keys(), None)

    def iter_keys(self) -> Iterator[DispatchKey]:
        """Yield the keys, highest priority first."""
        return iter(keys_of(self.mask))

    __iter__ = iter_keys

    def __len__(self) -> int:
        return self.mask.bit_count()

    def __bool__(self) -> bool:
        return self.mask != 0

    def __or__(self, other: KeysetLike) -> DispatchKeySet:
        return _keyset(self.mask | self.marker | as_mask(other))

    __ror__ = __or__

    def __and__(self, other: KeysetLike) -> DispatchKeySet:
        mask = as_mask(other)
        return _keyset(self.mask & mask | self.marker | mask & MARKERS)

    __rand__ = __and__

    def __sub__(self, other: KeysetLike) -> DispatchKeySet:
        return _keyset(self.mask & ~removal_mask(other) | self.marker)

    def __rsub__(self, other: KeysetLike) -> DispatchKeySet:
        return _keyset(as_mask(other) & ~removal_mask(self) | self.marker)

    def __eq__(self, other: object) -> bool:
        return self.mask == other.mask if isinstance(other, DispatchKeySet) else NotImplemented

    def __hash__(self) -> int:
        return hash((DispatchKeySet, self.mask))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"DispatchKeySet is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"DispatchKeySet is immutable: cannot delete {name!r}")

    def __reduce__(self) -> tuple[type[DispatchKeySet], tuple[tuple[str, ...]]]:
        # Names, not bits: a vendor's bit may differ in the process that reads it.
        return DispatchKeySet, (tuple(key.name for key in self),)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.label for key in self)})"


#: Sets that were made by an operator, by their bits. A layer makes the same one in every call.
_known: dict[int, DispatchKeySet] = {}
_KEPT = 1024


def _keyset(bits: int) -> DispatchKeySet:
    """Return the set of a mask that was checked, frontends' markers included."""
    found = _known.get(bits)
    if found is None:
        found = object.__new__(DispatchKeySet)
        object.__setattr__(found, "mask", bits & ~MARKERS)
        object.__setattr__(found, "marker", bits & MARKERS)
        return keep(_known, bits, found, _KEPT)
    return found


def removal_mask(keys: KeysetLike) -> int:
    """Return the mask to take away for ``keys``: an alias takes its members along."""
    mask = keys.value if type(keys) is DispatchKey else as_mask(keys)
    return mask | _keys.AUTOGRAD if mask & _AUTOGRAD_ALIAS else mask
