"""The backends that array types belong to, and the dispatch keys of arrays and tensors.

`TYPE_MASKS` maps a type to its backend's key. A type that is not in it is looked up among the declarations of
installed plugins, which loads the one backend that claims it; a type that no plugin claims is kept by the plugin loader.

A type that an installed distribution declares for its device belongs to that device from the beginning, and so does a
key of this project's own devices: no backend that is there earlier can take ``numpy.ndarray`` from cpu. In a private
registry any backend may own such a type: there `Registry.translate_mask` replaces the owner's key by its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from weakref import ref

from ..bookkeeping.transactions import on_rollback
from ..caches import is_lasting
from ..devices import Device
from ..discovery import loader
from ..errors import ArgumentError, BackendError, BackendNotFoundError, RegistrationError
from ..forks import Order, forkable
from ..keys.keyset import mask_readers
from ..keys.table import ARRAYS, DispatchKey, keys_of, show_claim
from .types import ArrayType, BackendInfo

#: type of a raw array → mask of its backend's key. Read on every call with raw arrays.
TYPE_MASKS: Final[dict[type, int]] = {}
#: type of a raw array → how to read it.
ARRAY_TYPES: Final[dict[type, ArrayType]] = {}
#: The types in it that others belong to where ``issubclass`` or ``isinstance`` say so.
_OPEN: Final[dict[type, ArrayType]] = {}
#: The types in it whose values represent a backend's arrays → the mask of these.
_STAND_INS: Final[dict[type, int]] = {}
#: The function that returns an argument with its arrays computed, once there are values that wait for theirs.
WAITING: Final[list[Callable[[Any], Any]]] = []
#: dispatch key → the array types that kernels under it return.
KEY_TYPES: Final[dict[DispatchKey, tuple[ArrayType, ...]]] = {}
#: device name → dispatch key, and back.
DEVICE_KEYS: Final[dict[str, DispatchKey]] = {}
#: type of a raw array → the device of all its arrays, once asked for; types whose arrays lie on several are not in it.
PLACES: Final[dict[type, Device]] = {}
KEY_DEVICES: Final[dict[str, str]] = {}
#: The subclasses that are in the tables themselves, not by a weak reference: their modules hold them. One that its module
#: no longer has leaves the tables when the next subclass comes.
_LASTING: Final[set[type]] = set()
_lock: Final = forkable(Order.TABLE)


def add_backend(info: BackendInfo, claims: dict[type, int] | None = None) -> DispatchKey:
    """Make a backend's device name, key and array types known.

    Types that belong to another backend go into ``claims``, a private registry's own. Raises ``RegistrationError`` when the
    name or the key is another backend's, or a type and there are no ``claims``.
    """
    key = _claim(info)
    owner = loader().owner_of_key(key)
    if owner is not None and owner.name != info.name:
        raise RegistrationError(
            f"device {info.name!r} asks for key {key.name}, which belongs to {owner.distribution}",
            hint="leave dispatch_key empty to get a key of its own",
        )
    declared = {each.type: loader().declared_owner(each.type, info.name) for each in info.array_types}
    if object in declared:
        raise RegistrationError(
            f"device {info.name!r} claims the array type object, which everything is an instance of",
            hint="claim the class of your arrays",
        )
    if plain := next((each for each in declared if each in (bool, int, float, complex)), None):
        raise RegistrationError(
            f"device {info.name!r} claims the array type {plain.__qualname__}, which operators take as numbers",
            hint="claim the class of your arrays",
        )
    with _lock:
        if info.name in DEVICE_KEYS:
            raise RegistrationError(
                f"device {info.name!r} is registered already, with key {DEVICE_KEYS[info.name].label}",
                hint="a device name belongs to one backend",
            )
        taker = KEY_DEVICES.get(key.backend)
        if taker is not None:
            raise RegistrationError(
                f"device {info.name!r} asks for key {key.name}, which device {taker!r} has",
                hint=(
                    "leave dispatch_key empty to get a key of its own"
                    if info.dispatch_key
                    else "name another in dispatch_key"
                ),
            )
        theirs = [each.type for each in info.array_types if declared[each.type] is not None or each.type in TYPE_MASKS]
        for cls in theirs if claims is None else ():
            if (claim := declared[cls]) is not None:
                raise RegistrationError(
                    f"device {info.name!r} claims the array type {cls.__module__}.{cls.__qualname__}, which"
                    f" {claim.distribution} declares for device {claim.value!r}",
                    hint="claim a class of your own; a private Registry() may have any owner for it",
                )
            taken = TYPE_MASKS.get(cls)
            if taken is not None:
                raise RegistrationError(
                    f"device {info.name!r} claims the array type {cls.__qualname__}, which belongs to"
                    f" device {KEY_DEVICES[keys_of(taken)[0].backend]!r}",
                    hint="one type has one owner",
                )
        DEVICE_KEYS[info.name] = key
        KEY_DEVICES[key.backend] = info.name
        show_claim(key, info.name)
        KEY_TYPES[key] = info.array_types
        for array_type in info.array_types:
            if array_type.type not in theirs:
                ARRAY_TYPES[array_type.type] = array_type
                TYPE_MASKS[array_type.type] = key.value
                if array_type.subclasses:
                    _OPEN[array_type.type] = array_type
            elif claims is not None:
                claims[array_type.type] = key.value
    on_rollback(lambda: _remove_backend(info, key, claims))
    return key


def add_stand_in(array_type: ArrayType, mask: int) -> None:
    """Make a type known whose values represent a backend's arrays that are not there yet."""
    with _lock:
        ARRAY_TYPES[array_type.type] = array_type
        TYPE_MASKS[array_type.type] = mask
        _STAND_INS[array_type.type] = mask


def is_of_types(array: object, types: tuple[type, ...]) -> bool:
    """Return whether an array is of some types; one that is not there yet is, if all arrays of its device are."""
    if isinstance(array, types):
        return True
    mask = _STAND_INS.get(type(array), 0)
    known = [each.type for key in keys_of(mask & ARRAYS) for each in KEY_TYPES.get(key, ())]
    return bool(known) and all(issubclass(each, types) for each in known)


def _claim(info: BackendInfo) -> DispatchKey:
    """Return the backend's key, made new where no key has that name.

    Where it names none, it is the device's with a capital, or the device's own where that is another sort of key.
    """
    name = info.dispatch_key or info.name[:1].upper() + info.name[1:]
    if not info.dispatch_key and name in DispatchKey and not _is_free(DispatchKey[name]):
        name = info.name
    key = DispatchKey[name] if name in DispatchKey else DispatchKey.register_backend(name)
    if key.kind != "device" or not key.backend:
        raise RegistrationError(
            f"device {info.name!r} asks for key {name}, which is not a backend's",
            hint="name a backend key such as PrivateUse1",
        )
    return key


def _is_free(key: DispatchKey) -> bool:
    return key.kind == "device" and key.backend == key.name and key.backend not in KEY_DEVICES


def _remove_backend(info: BackendInfo, key: DispatchKey, claims: dict[type, int] | None = None) -> None:
    with _lock:
        DEVICE_KEYS.pop(info.name, None)
        KEY_DEVICES.pop(key.backend, None)
        show_claim(key, None)
        KEY_TYPES.pop(key, None)
        if claims is not None:
            for array_type in info.array_types:
                if claims.get(array_type.type) == key.value:
                    del claims[array_type.type]
        # Subclasses that were looked up meanwhile, and stand-ins, point at the removed key.
        for cls in [cls for cls, mask in TYPE_MASKS.items() if mask & ARRAYS == key.value]:
            for table in (TYPE_MASKS, ARRAY_TYPES, PLACES, _OPEN, _STAND_INS):
                table.pop(cls, None)
            _LASTING.discard(cls)


def find_type(cls: type, instance: object = None) -> int:
    """Return the mask for arrays of type ``cls``, loading the backend that declares it; 0 when there is none.

    Some classes are known by their instances alone (jax's tracers are instances of ``jax.Array``, and no subclass).

    Raises ``BackendError`` when that backend fails to load.
    """
    mask = TYPE_MASKS.get(cls)
    if mask is not None:
        return mask
    line = cls.__mro__
    known = next((place for place, base in enumerate(line) if base in ARRAY_TYPES), None)
    # A declaration for a nearer class comes before a base class that another backend may own.
    nearer = () if known is None else line[:known]
    plugins = loader()
    if known is None:
        owner = plugins.array_type_owner(cls)
    else:
        owner = next(filter(None, map(plugins.declared_device, nearer)), None)
    if owner is None:
        return TYPE_MASKS[cls] if _inherit(cls, instance) else 0
    info = plugins.ensure_backend(owner)
    if not _inherit(cls, instance):
        names = [f"{each.type.__module__}.{each.type.__qualname__}" for each in info.array_types]
        raise BackendError(
            f"backend {owner!r} is declared as the owner of {cls.__module__}.{cls.__qualname__}, and registers"
            f" {' and '.join(names) or 'no array type'}",
            hint="its BackendInfo.array_types must list the types that its entry points declare",
        )
    return TYPE_MASKS[cls]


class _Subclass(ref[type]):
    """A class as a key that does not keep it alive: found by the class, and gone when that is."""

    __slots__ = ()

    __hash__ = ref.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other or self() is other


def _forget(cls: object, tables: tuple[dict[Any, Any], ...] = (TYPE_MASKS, ARRAY_TYPES)) -> None:
    for table in tables:
        table.pop(cls, None)


def _inherit(cls: type, instance: object) -> bool:
    """Take over the entries of the first base class that has an owner, for as long as the class lives."""
    with _lock:
        known = next(filter(None, map(ARRAY_TYPES.get, cls.__mro__)), None) or _find_open(cls, instance)
        if known is None:
            return False
        if known.type is not cls:
            for other in [other for other in _LASTING if not is_lasting(other)]:
                _LASTING.discard(other)
                _forget(other)
            # A class is found by itself in half the time.
            key: Any = cls if is_lasting(cls) else _Subclass(cls, _forget)
            if key is cls:
                _LASTING.add(cls)
            ARRAY_TYPES[key] = known
            TYPE_MASKS[key] = TYPE_MASKS[known.type]
        return True


def _find_open(cls: type, instance: object) -> ArrayType | None:
    """Return the type with ``subclasses`` that a class belongs to without inheriting from it."""
    for wider, known in _OPEN.items():
        if issubclass(cls, wider) or (instance is not None and isinstance(instance, wider)):
            return known
    return None


def is_tensor(value: object) -> bool:
    """Return whether ``value`` is a frontend's tensor or an array that a backend owns."""
    if hasattr(type(value), "_dispatch_mask") or type(value) in TYPE_MASKS:
        return True
    if isinstance(value, _NEVER_ARRAYS):
        return False
    # A tensor class without slots has the mask on its instances only.
    return isinstance(getattr(value, "_dispatch_mask", None), int) or find_type(type(value), value) != 0


#: Types that are asked about often and are never arrays; the look-up need not scan plugins for them.
_NEVER_ARRAYS: Final = (int, float, complex, str, bytes, list, tuple, dict, type(None), Device)


def mask_of(value: object) -> int:
    """Return the dispatch mask of one tensor or array, its frontend's marker included.

    Raises ``ArgumentError`` for anything else.
    """
    mask = getattr(value, "_dispatch_mask", None)
    if isinstance(mask, int):
        return mask
    mask = TYPE_MASKS.get(type(value)) or (0 if isinstance(value, _NEVER_ARRAYS) else find_type(type(value), value))
    if not mask:
        raise ArgumentError(
            f"expected a tensor or an array that a backend owns, not {type(value).__module__}.{type(value).__qualname__}",
            hint=where_to_find_type(type(value)) or "python -m dispatch_core list shows the installed backends",
        )
    return mask


def where_to_find_type(cls: type) -> str:
    """Return how to install the device of a library's type of arrays that no device owns here, or ""."""
    return "" if cls in TYPE_MASKS else loader().where_to_find_type(cls)


def device_mask_of(value: object) -> int:
    """Return the mask of the device and layout keys of a tensor, an array, or any object with a ``device``."""
    if not is_tensor(value) and (named := getattr(value, "device", None)) is not None:
        return device_key(getattr(named, "type", named)).value
    return mask_of(value) & ARRAYS


mask_readers.append(device_mask_of)


def device_key(name: str) -> DispatchKey:
    """Return the dispatch key of the device ``name``, loading its backend if need be.

    Raises ``BackendNotFoundError`` when no plugin provides it, ``BackendError`` when that plugin fails.
    """
    if not isinstance(name, str):
        raise ArgumentError(f"expected a device's name, not {type(name).__name__}")
    key = DEVICE_KEYS.get(name)
    if key is None:
        loader().ensure_backend(name)
        key = DEVICE_KEYS[name]
    return key


def load_key(key: DispatchKey) -> None:
    """Load the backend of the installed device that a key belongs to, if there is one.

    Raises ``BackendError`` when that is kept out or fails.
    """
    device = loader().device_of_key(key)
    if device is not None:
        loader().ensure_backend(device)


def named_key(name: str) -> DispatchKey:
    """Return the key that kernels for the device ``name`` are registered under, whether or not a backend provides it.

    The keys of cpu, meta and npu are known without loading anything; another device's backend decides on its key,
    where it is installed. Raises ``BackendNotFoundError`` for a name that is neither a device's nor a backend key's.
    """
    if not isinstance(name, str):
        raise ArgumentError(f"expected a device's name, not {type(name).__name__}")
    key = DEVICE_KEYS.get(name)
    if key is not None:
        return key
    spelled = "privateuse1" if name == "privateuseone" else name
    known = next(
        (key for key in DispatchKey if key.backend and key.kind == "device" and key.name.lower() == spelled), None
    )
    if known is not None and name in _OWN_DEVICES:
        return known
    try:
        return device_key(name)
    except BackendNotFoundError:
        if known is None:
            raise
    return known


_OWN_DEVICES: Final = frozenset({"cpu", "meta", "npu"})
