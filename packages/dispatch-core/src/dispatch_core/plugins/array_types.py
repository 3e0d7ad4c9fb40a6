"""The device that owns a type of array, by the declarations of installed distributions, none of which is imported."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from ..surroundings.distributions import ARRAY_TYPES, BACKENDS, Claim, normalize
from . import messages
from .catalog import OWNERS, Catalog, is_own


class ArrayTypeOwners:
    """Find the owner of a type once; both the owner and its absence are remembered."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: WeakKeyDictionary[type, str | None] = WeakKeyDictionary()

    def find(self, cls: type) -> str | None:
        """Return the device that claims a type along its method resolution order, or None.

        Every qualified name is tried before any root package.
        Raises ``BackendError`` where several devices claim the type.
        """
        try:
            return self._known[cls]
        except KeyError:
            owner = self._known[cls] = self._search(cls)
            return owner

    def _search(self, cls: type) -> str | None:
        line = [kind for kind in cls.__mro__ if kind is not object]
        names = [f"{kind.__module__}.{kind.__qualname__}" for kind in line]
        roots = [f"{kind.__module__}".partition(".")[0] for kind in line]
        for name in dict.fromkeys(names + roots):
            if (owner := sole_owner(self._catalog, name)) is not None:
                return owner
        return None


def sole_owner(catalog: Catalog, name: str) -> str | None:
    """Return the device that claims a name, or None; raise ``BackendError`` where several do."""
    owners = owners_of(catalog, name)
    if len(owners) > 1:
        raise messages.contested_type(name, owners)
    return next(iter(owners), None)


def owners_of(catalog: Catalog, name: str) -> dict[str, Claim]:
    """Return the devices that claim a name, each with its claim. Where one of this project's own does, no other counts."""
    owners: dict[str, Claim] = {}
    for claim in catalog.claims(ARRAY_TYPES, name):
        if (device := device_of(catalog, claim)) is not None:
            owners.setdefault(device, claim)
    own = {device: claim for device, claim in owners.items() if is_own(BACKENDS, device)}
    return own or owners


def device_of(catalog: Catalog, claim: Claim) -> str | None:
    """Return the device that an array type's entry point names, by its name or by its own reference.

    None if the distribution does not claim that device, or may not.
    """
    theirs = normalize(claim.distribution.name)
    for device in catalog.names(BACKENDS):
        if OWNERS.get((BACKENDS, device), theirs) != theirs:
            continue
        for backend in catalog.claims(BACKENDS, device):
            if normalize(backend.distribution.name) == theirs and claim.value in {device, backend.value}:
                return device
    return None
